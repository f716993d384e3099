/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the module `onload`: main (life, parameters), nodes (devices), stacks, cplane (the server). */
#ifndef ONLOAD_STUB_ONLOAD_H
#define ONLOAD_STUB_ONLOAD_H

#include <linux/types.h>

struct file;
struct proc_dir_entry;

/* nodes.c; hidden is the number of the node that is not made, 0: none */
int nodes_create(int hidden);
void nodes_destroy(void);

/* stacks.c */
int stacks_create(struct proc_dir_entry* folder);
void stacks_destroy(void);
bool stacks_any(void);

/* cplane.c */
int cplane_create(struct proc_dir_entry* folder);
void cplane_start(void); /* from here on, a server is started again when parameters change */
void cplane_stop(void);
int cplane_serve(struct file* file); /* the caller is a server as long as its file is open */
void cplane_forget(const struct file* file);
int cplane_spawn_for(int pid); /* a server for the network namespace of a process */

#endif
