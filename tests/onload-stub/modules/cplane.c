// SPDX-License-Identifier: GPL-2.0-only
/* The control plane server: a program that the module starts, one for each network namespace. The one of the first
 * namespace comes with the module, and again when a parameter of its command line changes while there is no stack. */
#include <linux/kmod.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/umh.h>
#include <net/net_namespace.h>

#include "onload.h"

#define WORDS_MAX 64
#define TEXT_MAX 1024

struct server {
  struct list_head link;
  const struct file* file; /* its open /dev/onload */
  struct pid* pid;
  struct net* net;
};

static LIST_HEAD(servers);
static DEFINE_MUTEX(servers_lock);
static bool started; /* between the end of init and the begin of exit */

static bool cplane_spawn_server = true;
static int cplane_server_grace_timeout = 30, cplane_init_timeout = 10;
static int cplane_route_request_limit = 1000, cplane_route_request_timeout_ms = 200;
static bool cplane_use_prefsrc_as_local, cplane_track_xdp;
module_param(cplane_spawn_server, bool, 0644);
module_param(cplane_server_grace_timeout, int, 0644);
module_param(cplane_init_timeout, int, 0644);
module_param(cplane_route_request_limit, int, 0644);
module_param(cplane_route_request_timeout_ms, int, 0644);
module_param(cplane_use_prefsrc_as_local, bool, 0644);
module_param(cplane_track_xdp, bool, 0644);

/* Those that make up the command line; both kinds are stored by the setters below. */
static char server_path[TEXT_MAX] = "/sbin/onload_cp_server", server_params[TEXT_MAX];
/* Words for the stub's server alone, after those of server_params: what can go wrong with it. */
static char stub_server_params[TEXT_MAX];
module_param_string(stub_server_params, stub_server_params, TEXT_MAX, 0644);
static unsigned int cplane_server_uid = 65534, cplane_server_gid = 65534;

static void restart_if_idle(void);

static int set_text(const char* text, const struct kernel_param* param) {
  char* const stored = param->arg;
  const size_t length = strcspn(text, "\n");
  if (length >= TEXT_MAX) return -ENOSPC;
  if (strlen(stored) == length && memcmp(stored, text, length) == 0) return 0;
  memcpy(stored, text, length);
  stored[length] = 0;
  restart_if_idle();
  return 0;
}

/* Without a line feed, as in Onload: since Linux 4.14 the kernel adds none. */
static int get_text(char* buffer, const struct kernel_param* param) {
  return scnprintf(buffer, PAGE_SIZE, "%s", (const char*)param->arg);
}

static int set_id(const char* text, const struct kernel_param* param) {
  const unsigned int before = *(unsigned int*)param->arg;
  const int rc = param_set_uint(text, param);
  if (rc == 0 && before != *(unsigned int*)param->arg) restart_if_idle();
  return rc;
}

static const struct kernel_param_ops text_ops = {.set = set_text, .get = get_text};
static const struct kernel_param_ops id_ops = {.set = set_id, .get = param_get_uint};
module_param_cb(cplane_server_path, &text_ops, server_path, 0644);
module_param_cb(cplane_server_params, &text_ops, server_params, 0644);
module_param_cb(cplane_server_uid, &id_ops, &cplane_server_uid, 0644);
module_param_cb(cplane_server_gid, &id_ops, &cplane_server_gid, 0644);
/* Parameters with setters of their own stand in .modinfo by their descriptions only. */
MODULE_PARM_DESC(cplane_server_path, "program of the control plane server");
MODULE_PARM_DESC(cplane_server_params, "words of its command line");
MODULE_PARM_DESC(cplane_server_uid, "its user");
MODULE_PARM_DESC(cplane_server_gid, "its group");

/* The lock of the parameters is held by their setters and taken by all others who come here, for the command line.
 *
 * argv: path, words of the parameters, then what the module adds; netns is NULL for the first namespace. */
static int spawn(char* netns) {
  static char* no_environment[] = {NULL};
  char *argv[WORDS_MAX], uid[12], gid[12], **words, *line;
  int count, i, n = 0, rc;
  line = kasprintf(GFP_KERNEL, "%s %s", server_params, stub_server_params);
  if (!line) return -ENOMEM;
  words = argv_split(GFP_KERNEL, line, &count);
  kfree(line);
  if (!words) return -ENOMEM;
  argv[n++] = server_path;
  for (i = 0; i < count && n < WORDS_MAX - 9; ++i) argv[n++] = words[i];
  argv[n++] = "--daemonise";
  argv[n++] = IS_ENABLED(CONFIG_IPV6) ? "--ipv6-no-source" : "--no-ipv6";
  snprintf(uid, sizeof uid, "%u", cplane_server_uid);
  snprintf(gid, sizeof gid, "%u", cplane_server_gid);
  if (cplane_server_uid) argv[n++] = "--uid", argv[n++] = uid;
  if (cplane_server_gid) argv[n++] = "--gid", argv[n++] = gid;
  if (netns)
    argv[n++] = "--network-namespace-file", argv[n++] = netns;
  else
    argv[n++] = "--bootstrap";
  argv[n] = NULL;
  rc = call_usermodehelper(server_path, argv, no_environment, UMH_WAIT_EXEC);
  if (rc) pr_err("[onload] cp_server: cannot start %s (%d)\n", server_path, rc);
  argv_free(words);
  return rc;
}

int cplane_spawn_for(int pid) {
  char netns[40];
  int rc;
  snprintf(netns, sizeof netns, "/proc/%d/ns/net", pid);
  kernel_param_lock(THIS_MODULE);
  rc = spawn(netns);
  kernel_param_unlock(THIS_MODULE);
  return rc;
}

static void spawn_first(void) {
  if (cplane_spawn_server && cplane_server_grace_timeout != 0) spawn(NULL);
}

static void kill_first(void) {
  struct server* server;
  mutex_lock(&servers_lock);
  list_for_each_entry(server, &servers, link) if (server->net == &init_net) kill_pid(server->pid, SIGQUIT, 1);
  mutex_unlock(&servers_lock);
}

static void restart_if_idle(void) {
  if (!started) return;
  if (stacks_any()) {
    pr_info("[onload] cp_server: the new parameters apply after its restart\n");
    return;
  }
  kill_first();
  spawn_first();
}

void cplane_start(void) {
  kernel_param_lock(THIS_MODULE);
  started = true;
  spawn_first();
  kernel_param_unlock(THIS_MODULE);
}

void cplane_stop(void) {
  kernel_param_lock(THIS_MODULE);
  started = false;
  kernel_param_unlock(THIS_MODULE);
}

int cplane_serve(struct file* file) {
  struct server* server = kzalloc(sizeof *server, GFP_KERNEL);
  if (!server) return -ENOMEM;
  server->file = file;
  server->pid = get_pid(task_tgid(current));
  server->net = get_net(current->nsproxy->net_ns);
  mutex_lock(&servers_lock);
  list_add_tail(&server->link, &servers);
  mutex_unlock(&servers_lock);
  return 0;
}

void cplane_forget(const struct file* file) {
  struct server *server, *next;
  mutex_lock(&servers_lock);
  list_for_each_entry_safe(server, next, &servers, link) {
    if (server->file != file) continue;
    list_del(&server->link);
    put_pid(server->pid);
    put_net(server->net);
    kfree(server);
  }
  mutex_unlock(&servers_lock);
}

static int pids_show(struct seq_file* out, void* unused) {
  struct server* server;
  mutex_lock(&servers_lock);
  list_for_each_entry(server, &servers, link) seq_printf(out, "%d\n", pid_vnr(server->pid));
  mutex_unlock(&servers_lock);
  return 0;
}

static int stats_show(struct seq_file* out, void* unused) {
  const struct server* server;
  bool found = false;
  mutex_lock(&servers_lock);
  list_for_each_entry(server, &servers, link) found |= server->net == current->nsproxy->net_ns;
  mutex_unlock(&servers_lock);
  seq_puts(out, found ? "route_requests: 0\n" : "No control plane instance in this net namespace.\n");
  return 0;
}

int cplane_create(struct proc_dir_entry* folder) {
  const bool done = proc_create_single("cp_server_pids", 0444, folder, pids_show) &&
                    proc_create_single("cp_stats", 0444, folder, stats_show);
  return done ? 0 : -ENOMEM;
}
