/* SPDX-License-Identifier: GPL-2.0-only */
/* What can go wrong with a module, on demand. Included once by each module.
 *
 * Each fault is a module parameter (stub_fail_init=2). Where the test does not do the loading itself, a file does the
 * same: /run/onload-stub/<module>-<version>, read when the module starts, with words such as "fail_init=2 pinned=1". So
 * the release that is loaded next can fail while the one that is put back does not, and the loader knows of nothing. */
#ifndef ONLOAD_STUB_FAULTS_H
#define ONLOAD_STUB_FAULTS_H

#include <linux/delay.h>
#include <linux/kernel_read_file.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

static int stub_fail_init, stub_slow_init_ms, stub_slow_exit_ms, stub_pinned, stub_hide_node;
module_param(stub_fail_init, int, 0444);
MODULE_PARM_DESC(stub_fail_init, "the errno that init fails with");
module_param(stub_slow_init_ms, int, 0444);
module_param(stub_slow_exit_ms, int, 0644);
module_param(stub_pinned, int, 0444);
MODULE_PARM_DESC(stub_pinned, "1: can never be unloaded");
module_param(stub_hide_node, int, 0444);
MODULE_PARM_DESC(stub_hide_node, "1: the first device node is missing, 2: the second");

/* References that no process and no module explains. */
static int stub_extra_refs;

static int faults_hold(int wanted) {
  if (wanted < 0 || wanted > 100) return -EINVAL;
  for (; stub_extra_refs < wanted; ++stub_extra_refs) __module_get(THIS_MODULE);
  for (; stub_extra_refs > wanted; --stub_extra_refs) module_put(THIS_MODULE);
  return 0;
}

static int faults_set_extra_refs(const char* text, const struct kernel_param* param) {
  int wanted;
  const int rc = kstrtoint(text, 0, &wanted);
  return rc ? rc : faults_hold(wanted);
}

static const struct kernel_param_ops faults_extra_refs_ops = {.set = faults_set_extra_refs, .get = param_get_int};
module_param_cb(stub_extra_refs, &faults_extra_refs_ops, &stub_extra_refs, 0644);

static int faults_take_word(char* word) {
  const struct {
    const char* name;
    int* value;
  } known[] = {{"fail_init", &stub_fail_init},
               {"slow_init_ms", &stub_slow_init_ms},
               {"slow_exit_ms", &stub_slow_exit_ms},
               {"pinned", &stub_pinned},
               {"hide_node", &stub_hide_node}};
  const char* name = strsep(&word, "=");
  int value, i;
  if (!word || kstrtoint(word, 0, &value)) return -EINVAL;
  if (strcmp(name, "extra_refs") == 0) return faults_hold(value);
  for (i = 0; i < (int)ARRAY_SIZE(known); ++i) {
    if (strcmp(name, known[i].name) == 0) {
      *known[i].value = value;
      return 0;
    }
  }
  return -EINVAL;
}

static int faults_read_file(void) {
  char path[80], *words, *rest, *word;
  void* content = NULL;
  ssize_t size;
  int rc = 0;
  snprintf(path, sizeof path, "/run/onload-stub/%s-%s", KBUILD_MODNAME, STUB_VERSION);
  size = kernel_read_file_from_path_initns(path, 0, &content, 4096, NULL, READING_UNKNOWN);
  if (size < 0) return size == -ENOENT ? 0 : (int)size;
  rest = words = kstrndup(content, size, GFP_KERNEL);
  vfree(content);
  if (!words) return -ENOMEM;
  while (rc == 0 && (word = strsep(&rest, " \n"))) {
    if (*word) rc = faults_take_word(word);
  }
  if (rc) pr_err("onload-stub: %s: not understood\n", path);
  kfree(words);
  return rc;
}

/* The first thing in init. What is not 0 is to be returned. */
static int faults_on_init(void) {
  const int rc = faults_read_file();
  if (rc) return rc;
  msleep(stub_slow_init_ms);
  if (stub_fail_init == 0 && stub_pinned) __module_get(THIS_MODULE);
  return -stub_fail_init;
}

static void faults_on_exit(void) { msleep(stub_slow_exit_ms); }

#endif
