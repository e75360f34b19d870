/* SPDX-License-Identifier: Apache-2.0 */
/* `wattgate sim` alone, for tests of a tree in which other commands are not built. */
#include "base/opt.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct command cmd_sim;

int main(int argc, char **argv)
{
    struct err e = { 0 };
    size_t n = 0;
    (void) argc;
    void *conf = calloc(1, cmd_sim.conf_size);
    if (!conf)
        return 4;
    opt_defaults(cmd_sim.options, conf);
    opt_defaults(opt_common, conf);
    int status = 2;
    if (opt_parse(&cmd_sim, conf, argv, true, &n, &e) < 0)
        fprintf(stderr, "wattgate sim: %s\n", e.text);
    else
        status = cmd_sim.run(conf, argv + 1, n);
    free(conf);
    return status;
}
