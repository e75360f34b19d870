#!/bin/sh
# The reader's name for run-nvml, by which tools find every oracle.
exec "$(dirname "$0")/run-nvml" "$@"
