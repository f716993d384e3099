// SPDX-License-Identifier: GPL-2.0-only
/* Stacks that exist in name only. Each write to debugfs onload_stub/ctl is one command:
 *
 *   create ID PID UID    a stack of a process, in stacks and stacks_ul
 *   orphan ID            its process is gone: in stacks and stacks_k
 *   adopt ID             and back
 *   destroy ID
 *   serve PID            a control plane server for the network namespace of a process, as its first stack would have
 *
 * They take no reference on the module: in a real one, that is done by the files of the process. */
#include <linux/debugfs.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "onload.h"

#define COUNTERS 23
#define STACKS_MAX 1000

struct stack {
  struct list_head link;
  int id, pid, uid;
  bool is_orphan;
};

static LIST_HEAD(stacks);
static int stacks_count;
static DEFINE_MUTEX(stacks_lock);
static struct dentry* control;

bool stacks_any(void) { return READ_ONCE(stacks_count) > 0; }

static struct stack* stack_of(int id) {
  struct stack* stack;
  list_for_each_entry(stack, &stacks, link) if (stack->id == id) return stack;
  return NULL;
}

static int create(int id, int pid, int uid) {
  struct stack* stack;
  if (stack_of(id)) return -EEXIST;
  if (stacks_count >= STACKS_MAX) return -ENOSPC;
  stack = kzalloc(sizeof *stack, GFP_KERNEL);
  if (!stack) return -ENOMEM;
  stack->id = id;
  stack->pid = pid;
  stack->uid = uid;
  list_add_tail(&stack->link, &stacks);
  ++stacks_count;
  return 0;
}

static void destroy(struct stack* stack) {
  list_del(&stack->link);
  kfree(stack);
  --stacks_count;
}

static int change(const char* act, int id) {
  const bool orphan = strcmp(act, "orphan") == 0, adopt = strcmp(act, "adopt") == 0;
  struct stack* stack = stack_of(id);
  if (!orphan && !adopt && strcmp(act, "destroy")) return -EINVAL;
  if (!stack) return -ENOENT;
  if (orphan || adopt)
    stack->is_orphan = orphan;
  else
    destroy(stack);
  return 0;
}

static int command(const char* text) {
  char act[16];
  int id, pid, uid, rc;
  const int words = sscanf(text, "%15s %d %d %d", act, &id, &pid, &uid);
  if (words == 2 && strcmp(act, "serve") == 0) return cplane_spawn_for(id);
  mutex_lock(&stacks_lock);
  rc = words == 4 && strcmp(act, "create") == 0 ? create(id, pid, uid) : words == 2 ? change(act, id) : -EINVAL;
  mutex_unlock(&stacks_lock);
  return rc;
}

static ssize_t control_write(struct file* file, const char __user* from, size_t size, loff_t* at) {
  char text[80];
  int rc;
  if (size >= sizeof text) return -EINVAL;
  if (copy_from_user(text, from, size)) return -EFAULT;
  text[size] = 0;
  rc = command(text);
  return rc ? rc : (ssize_t)size;
}

static const struct file_operations control_operations = {.owner = THIS_MODULE, .write = control_write};

enum which { ALL, OF_USERS, ORPHANS };

static int stacks_show(struct seq_file* out, void* unused) {
  const enum which which = (enum which)(long)pde_data(file_inode(out->file));
  struct stack* stack;
  int counter;
  mutex_lock(&stacks_lock);
  list_for_each_entry(stack, &stacks, link) {
    if (which != ALL && (which == ORPHANS) != stack->is_orphan) continue;
    seq_printf(out, "%d: %d %d", stack->id, stack->pid, stack->uid);
    for (counter = 0; counter < COUNTERS; ++counter) seq_printf(out, " %d", counter);
    seq_putc(out, '\n');
  }
  mutex_unlock(&stacks_lock);
  return 0;
}

int stacks_create(struct proc_dir_entry* folder) {
  if (!proc_create_single_data("stacks", 0444, folder, stacks_show, (void*)(long)ALL) ||
      !proc_create_single_data("stacks_ul", 0444, folder, stacks_show, (void*)(long)OF_USERS) ||
      !proc_create_single_data("stacks_k", 0444, folder, stacks_show, (void*)(long)ORPHANS))
    return -ENOMEM;
  control = debugfs_create_dir("onload_stub", NULL);
  debugfs_create_file("ctl", 0200, control, NULL, &control_operations);
  return 0;
}

void stacks_destroy(void) {
  struct stack *stack, *next;
  debugfs_remove_recursive(control);
  list_for_each_entry_safe(stack, next, &stacks, link) destroy(stack);
}
