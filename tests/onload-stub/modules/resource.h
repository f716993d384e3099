/* SPDX-License-Identifier: GPL-2.0-only */
/* What sfc_resource and sfc_char offer to the modules above them. */
#ifndef ONLOAD_STUB_RESOURCE_H
#define ONLOAD_STUB_RESOURCE_H

struct seq_file;
struct vm_area_struct;

/* sfc_resource: one line for each interface that can be accelerated. */
void efrm_stub_show_nics(struct seq_file* out);
/* sfc_resource: maps one page of zeros. */
int efrm_stub_map(struct vm_area_struct* area);
/* sfc_char: the same for its own users and for onload's. */
int sfc_char_stub_map(struct vm_area_struct* area);

#endif
