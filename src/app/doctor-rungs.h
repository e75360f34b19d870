/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATTGATE_APP_DOCTOR_RUNGS_H
#define WATTGATE_APP_DOCTOR_RUNGS_H

#include "source/source.h"

/* Appends what each later rung of watching needs on this machine, and whether it is there. */
void doctor_rungs(struct capability_list *out);

#endif
