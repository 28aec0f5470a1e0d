/*
 * Starts commands for the agent, fed by frames on standard input. One small program without any
 * dependency; docs/design/launcher-pool.md explains the design, launch-frame.ts the frames and
 * launch-record.ts the records.
 *
 *   agent --frames--> launcher --vfork, setsid, exec--> command
 *     ^                  |
 *     +---- lines -------+---- the same lines ----> <directory>/record (append only)
 *
 * Two processes: the keeper, and its child, the launcher. The keeper is a subreaper: when somebody
 * kills the launcher, the running commands become children of the keeper, which waits for them and
 * records their ends. Only the death of both loses exit codes.
 *
 * Lines of the record, each one write(2):
 *   l <launcher pid> <ticks> <keeper pid> <ticks>     who writes here
 *   s <key> <slot> <pid> <ticks> <epoch ms> <boot us> a command begins; written by its own process
 *   u <key> <pid> <what> <errno>                      and does not, after all
 *   e <key> <pid> <what> <number> <epoch ms> <wall us> <user us> <system us> <max rss KiB>
 *     <major faults> <stdout bytes> <stderr bytes> <clean>    how it ended
 *   d                                                 standard input ended: no more starts
 * Only on standard output: `r <key> <errno>`, the launcher could not prepare the run.
 *
 * A run is started when, and only when, it has an `s`: the new process writes it, then looks for
 * <directory>/open and for a stop of its run, and then executes the command. Whoever removes `open`
 * and reads the record afterwards knows every run that begins.
 *
 * An end is recorded before the zombie is reaped. A launcher killed in between leaves the zombie to
 * the keeper, so that no exit code is lost.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEY_MAX 80
#define LINE_MAX_BYTES 512
#define FRAME_MAX (64 << 20)
#define BUCKETS 4096
#define SAY_AFTER_FRAMES 4 /* while there are more: each word wakes the agent */
#define TICK_NS 10000000 /* of /proc/<pid>/stat on Linux: USER_HZ is 100 */

extern char **environ;

struct run {
  struct run *next;
  pid_t pid;
  char key[KEY_MAX];
  char slot[24];
  uint64_t begin_us; /* since boot */
  int has_own_directory, has_script;
  int has_failed; /* an `u` was written */
  char failure[16];
  int failure_errno;
};

static struct run *runs[BUCKETS];
static int running;
static int directory_fd, record_fd, null_fd;
static const char *directory;
static int agent_fd = -1; /* standard output, until the agent is gone */
static int always_read_ticks;

static void quit(const char *what) {
  dprintf(2, "busbar launcher: %s: %s\n", what, strerror(errno));
  _exit(1);
}

static void *allocate(size_t bytes) {
  void *memory = malloc(bytes);
  if (memory == NULL) quit("memory");
  return memory;
}

static uint64_t now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* When a process began, in clock ticks since boot, as /proc tells it. */
static uint64_t read_ticks(const char *path) {
  char text[1024];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (got <= 0) return 0;
  text[got] = 0;
  char *at = strrchr(text, ')');
  for (int field = 2; at != NULL && field < 22; field++) at = strchr(at + 1, ' ');
  return at == NULL ? 0 : strtoull(at + 1, NULL, 10);
}

/*
 * For tests: compiled with -DCRASH_AT=<point>, the first launcher to come there is killed, once in a
 * data directory.
 */
#ifdef CRASH_AT
static void crash_point(int point, pid_t launcher) {
  if (point == CRASH_AT && mkdirat(directory_fd, "../../crashed", 0700) == 0)
    kill(launcher, SIGKILL);
}
#else
#define crash_point(point, launcher) ((void)0) /* asks for no pid */
#endif

/* ---- lines ---- */

static char said[64 * 1024];
static size_t said_bytes;

static void flush_said(void) {
  size_t at = 0;
  while (agent_fd >= 0 && at < said_bytes) {
    ssize_t put = write(agent_fd, said + at, said_bytes - at);
    if (put > 0) at += put;
    else if (put < 0 && errno == EAGAIN) {
      struct pollfd wait = {.fd = agent_fd, .events = POLLOUT};
      poll(&wait, 1, -1);
    } else if (put < 0 && errno != EINTR) agent_fd = -1; /* the agent is gone */
  }
  said_bytes = 0;
}

static void say(const char *line, size_t length) {
  if (agent_fd < 0) return;
  if (said_bytes + length > sizeof said) flush_said();
  memcpy(said + said_bytes, line, length);
  said_bytes += length;
}

static void record(const char *line, size_t length) {
  while (write(record_fd, line, length) < 0 && errno == EINTR) {
  }
}

/* ---- runs ---- */

static struct run **find(pid_t pid) {
  struct run **at = &runs[pid % BUCKETS];
  while (*at != NULL && (*at)->pid != pid) at = &(*at)->next;
  return at;
}

static void add(struct run *run) {
  struct run **bucket = &runs[run->pid % BUCKETS];
  run->next = *bucket;
  *bucket = run;
  running++;
}

static void drop(struct run **at) {
  struct run *run = *at;
  *at = run->next;
  free(run);
  running--;
}

static const char *in_slot(char *path, const char *slot, const char *name) {
  snprintf(path, 64, "%s/%s", slot, name);
  return path;
}

static int is_stopping(const char *slot) {
  char path[64];
  return faccessat(directory_fd, in_slot(path, slot, "stopping"), F_OK, 0) == 0;
}

static long long size_of(const char *slot, const char *name) {
  char path[64];
  struct stat stat;
  if (fstatat(directory_fd, in_slot(path, slot, name), &stat, 0) != 0) return 0;
  return stat.st_size;
}

/* What getdents64(2) returns. */
struct entry {
  uint64_t inode, offset;
  unsigned short bytes;
};

/* Whether a run's own directory is as empty as it was, and as private. */
static int is_untouched(const char *slot) {
  char path[64];
  int fd = openat(directory_fd, in_slot(path, slot, "work"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return 0;
  struct stat stat;
  if (fstat(fd, &stat) != 0 || (stat.st_mode & 07777) != 0700) return close(fd), 0;
  char entries[4096];
  long got = syscall(SYS_getdents64, fd, entries, sizeof entries);
  int names = 0;
  for (long at = 0; at < got; names++) at += ((struct entry *)(entries + at))->bytes;
  close(fd);
  return got > 0 && names == 2;
}

/* Records the end of a run; its zombie, if there is one, must still be there. */
static void end_run(struct run *run, const char *what, int number, const struct rusage *used) {
  static const struct rusage nothing;
  if (used == NULL) used = &nothing;
  int stopping = is_stopping(run->slot);
  /* Whatever it left in its group goes with it; under a stop it still has its grace period. */
  if (run->pid > 0 && !stopping) kill(-run->pid, SIGKILL);
  int clean = !stopping && !run->has_script && (!run->has_own_directory || is_untouched(run->slot));
  char line[LINE_MAX_BYTES];
  int length = snprintf(
      line, sizeof line, "e %s %d %s %d %llu %llu %llu %llu %ld %ld %lld %lld %d\n", run->key,
      (int)run->pid, what, number, (unsigned long long)(now_ns(CLOCK_REALTIME) / 1000000),
      (unsigned long long)(now_ns(CLOCK_BOOTTIME) / 1000 - run->begin_us),
      (unsigned long long)used->ru_utime.tv_sec * 1000000 + used->ru_utime.tv_usec,
      (unsigned long long)used->ru_stime.tv_sec * 1000000 + used->ru_stime.tv_usec,
      used->ru_maxrss, used->ru_majflt, size_of(run->slot, "stdout"), size_of(run->slot, "stderr"),
      clean);
  record(line, length);
  say(line, length);
}

static int is_keeper;
static void read_record(void);

/* Collects whoever has ended: first the record, then the reaping. False: no child is left. */
static int collect(int options) {
  for (;;) {
    siginfo_t info;
    struct rusage used;
    info.si_pid = 0;
    if (syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOWAIT | options, &used) != 0) {
      if (errno == EINTR) continue;
      return 0;
    }
    if (info.si_pid == 0) return 1;
    if (*find(info.si_pid) == NULL && is_keeper) read_record(); /* it had just begun */
    struct run **at = find(info.si_pid), *run = *at;
    if (run != NULL) {
      crash_point(5, getpid());
      if (run->has_failed) end_run(run, run->failure, run->failure_errno, &used);
      else end_run(run, info.si_code == CLD_EXITED ? "exit" : "signal", info.si_status, &used);
    }
    if (run != NULL) crash_point(6, getpid());
    waitpid(info.si_pid, NULL, 0);
    if (run != NULL) crash_point(7, getpid());
    if (run != NULL) drop(at);
    if (!(options & WNOHANG)) return 1;
  }
}

/* ---- starting ---- */

struct launch {
  char *key, *slot, *cwd, *group; /* group: empty, or the directory of a control group */
  char **env, **argv, **limits;
  int env_count, argv_count, limit_count;
  char *script; /* NULL: none */
  size_t script_bytes;
};

static char **base_env;
static int base_count;

/* An output that another process may still have open, or that holds something, is replaced. */
static int open_output(const char *slot, const char *name) {
  char path[64];
  int flags = O_WRONLY | O_APPEND | O_CLOEXEC;
  int fd = openat(directory_fd, in_slot(path, slot, name), flags);
  if (fd >= 0) {
    struct stat stat;
    if (fstat(fd, &stat) == 0 && stat.st_size == 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0 &&
        fcntl(fd, F_SETLEASE, F_UNLCK) == 0)
      return fd;
    close(fd);
    unlinkat(directory_fd, path, 0);
  }
  return openat(directory_fd, path, flags | O_CREAT | O_EXCL, 0600);
}

/* Opens both outputs and writes the script; returns 0 or an errno. */
static int prepare(const struct launch *launch, int outputs[2]) {
  char path[64];
  outputs[0] = open_output(launch->slot, "stdout");
  if (outputs[0] < 0 && errno == ENOENT) {
    if (mkdirat(directory_fd, launch->slot, 0700) != 0 && errno != EEXIST) return errno;
    outputs[0] = open_output(launch->slot, "stdout");
  }
  if (outputs[0] < 0) return errno;
  outputs[1] = open_output(launch->slot, "stderr");
  if (outputs[1] < 0) return errno;
  if (launch->cwd[0] == 0) {
    /* One that is used again is as it was made; it costs a lookup. */
    in_slot(path, launch->slot, "work");
    if (mkdirat(directory_fd, path, 0700) != 0 && errno != EEXIST) return errno;
  }
  if (launch->script == NULL) return 0;
  in_slot(path, launch->slot, "script");
  int fd = openat(directory_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  if (fd < 0) return errno;
  size_t at = 0;
  while (at < launch->script_bytes) {
    ssize_t put = write(fd, launch->script + at, launch->script_bytes - at);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return close(fd), errno;
    at += put;
  }
  fchmod(fd, 0700); /* whatever the umask says */
  return close(fd) == 0 ? 0 : errno;
}

static int same_name(const char *one, const char *other) {
  while (*one == *other && *one != '=' && *one != 0) one++, other++;
  return *one == '=' && *other == '=';
}

/* The launch's variables and PWD over those of every command. */
static char **make_env(const struct launch *launch, char *pwd) {
  char **env = allocate((base_count + launch->env_count + 2) * sizeof *env);
  int count = 0;
  env[count++] = pwd;
  for (int i = 0; i < launch->env_count; i++)
    if (!same_name(launch->env[i], pwd)) env[count++] = launch->env[i];
  int own = count;
  for (int i = 0; i < base_count; i++) {
    int is_set = 0;
    for (int j = 0; j < own && !is_set; j++) is_set = same_name(base_env[i], env[j]);
    if (!is_set) env[count++] = base_env[i];
  }
  env[count] = NULL;
  return env;
}

static const char *value_of(char **env, const char *name) {
  size_t length = strlen(name);
  for (; *env != NULL; env++)
    if (strncmp(*env, name, length) == 0 && (*env)[length] == '=') return *env + length + 1;
  return NULL;
}

/* As execvpe: a file that is no program of its own is run by sh. Returns an errno. */
static int execute_file(const char *path, char **argv, char **env, char **by_shell) {
  execve(path, argv, env);
  if (errno != ENOEXEC) return errno;
  by_shell[0] = "/bin/sh";
  by_shell[1] = (char *)path;
  execve(by_shell[0], by_shell, env);
  return errno;
}

static int execute(char **argv, char **env, char **by_shell) {
  const char *program = argv[0];
  if (program[0] == 0) return ENOENT;
  if (strchr(program, '/') != NULL) return execute_file(program, argv, env, by_shell);
  const char *at = value_of(env, "PATH");
  if (at == NULL) at = "/usr/local/bin:/usr/bin:/bin";
  int failure = ENOENT;
  size_t length = strlen(program);
  for (;;) {
    const char *end = strchrnul(at, ':');
    char path[PATH_MAX];
    if (length > NAME_MAX) return ENAMETOOLONG;
    if ((size_t)(end - at) + length + 2 < sizeof path) {
      size_t directory_bytes = end - at;
      memcpy(path, at, directory_bytes);
      if (directory_bytes > 0) path[directory_bytes++] = '/';
      memcpy(path + directory_bytes, program, length + 1);
      int error = execute_file(path, argv, env, by_shell);
      if (error == EACCES) failure = EACCES;
      else if (error != ENOENT && error != ENOTDIR && error != ELOOP) return error;
    }
    if (*end == 0) return failure;
    at = end + 1;
  }
}

static int set_limits(const struct launch *launch) {
  for (int i = 0; i < launch->limit_count; i++) {
    int resource;
    unsigned long long soft, hard;
    if (sscanf(launch->limits[i], "%d:%llu:%llu", &resource, &soft, &hard) != 3) return EINVAL;
    struct rlimit limit = {soft, hard};
    if (setrlimit(resource, &limit) != 0) return errno;
  }
  return 0;
}

/* What the new process tells its launcher: they share their memory until it executes. */
struct birth {
  char line[LINE_MAX_BYTES];
  int length;
  uint64_t begin_us;
  const char *failure;
  int failure_errno;
};

static void give_up(const struct launch *launch, struct birth *birth, const char *what, int error) {
  char line[LINE_MAX_BYTES];
  record(line, snprintf(line, sizeof line, "u %s %d %s %d\n", launch->key, (int)getpid(), what, error));
  birth->failure_errno = error;
  birth->failure = what;
  _exit(127);
}

/* Whatever the new process needs. */
struct start {
  const struct launch *launch;
  struct birth *birth;
  const char *pwd;
  int *outputs;
  char **env, **by_shell;
  uint64_t before_ns;
  int must_enter; /* its control group, by itself */
};

/* Moves this process into its control group; returns an errno. */
static int enter_group(const char *group) {
  char path[PATH_MAX + 16];
  snprintf(path, sizeof path, "%s/cgroup.procs", group);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  ssize_t put = write(fd, "0", 1);
  int error = put == 1 ? 0 : errno;
  close(fd);
  return error;
}

/* In the new process. */
static void begin(void *argument) {
  const struct start *start = argument;
  const struct launch *launch = start->launch;
  struct birth *birth = start->birth;
  const char *pwd = start->pwd;
  int *outputs = start->outputs;
  char **env = start->env, **by_shell = start->by_shell;
  uint64_t before_ns = start->before_ns;
  uint64_t after_ns = now_ns(CLOCK_BOOTTIME);
  uint64_t ticks = after_ns / TICK_NS;
  setsid();
  if (start->must_enter) {
    int error = enter_group(launch->group);
    if (error != 0) give_up(launch, birth, "ungrouped", error);
  }
  if (always_read_ticks || before_ns / TICK_NS != ticks) ticks = read_ticks("/proc/self/stat");
  if (dup2(null_fd, 0) < 0 || dup2(outputs[0], 1) < 0 || dup2(outputs[1], 2) < 0)
    give_up(launch, birth, "unstarted", errno);
  if (chdir(launch->cwd[0] == 0 ? pwd : launch->cwd) != 0) give_up(launch, birth, "nowhere", errno);
  int limited = set_limits(launch);
  if (limited != 0) give_up(launch, birth, "unstarted", limited);
  birth->begin_us = after_ns / 1000;
  crash_point(2, getppid());
  birth->length = snprintf(birth->line, sizeof birth->line, "s %s %s %d %llu %llu %llu\n",
                           launch->key, launch->slot, (int)getpid(), (unsigned long long)ticks,
                           (unsigned long long)(now_ns(CLOCK_REALTIME) / 1000000),
                           (unsigned long long)birth->begin_us);
  if (write(record_fd, birth->line, birth->length) != birth->length) {
    birth->length = 0; /* nobody would know of it */
    give_up(launch, birth, "unstarted", errno == 0 ? ENOSPC : errno);
  }
  crash_point(3, getppid());
  if (faccessat(directory_fd, "open", F_OK, 0) != 0 || is_stopping(launch->slot))
    give_up(launch, birth, "unstarted", 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  give_up(launch, birth, "unstarted", execute(launch->argv, env, by_shell));
}

/* The third version of clone(2); linux/sched.h of older systems does not know it. */
struct clone_arguments {
  uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
      set_tid_size, cgroup;
};

#define INTO_CGROUP 0x200000000ULL
#define VFORK_AND_VM 0x4100ULL

/*
 * vfork(2) into a control group: a process that enters one by itself waits for all processors, 20 ms
 * on an idle machine. The new process has a stack of its own, as this function returns in one of the
 * two only. Returns the pid, or a negative errno.
 */
static long fork_into(const char *group, struct start *start) {
#if defined(__x86_64__) || defined(__aarch64__)
  static char stack[256 * 1024] __attribute__((aligned(16)));
  int fd = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -errno;
  struct clone_arguments arguments = {.flags = VFORK_AND_VM | INTO_CGROUP,
                                      .exit_signal = SIGCHLD,
                                      .stack = (uint64_t)(uintptr_t)stack,
                                      .stack_size = sizeof stack,
                                      .cgroup = fd};
#if defined(__x86_64__)
  long result;
  register void (*function)(void *) __asm__("r12") = begin;
  register void *argument __asm__("r13") = start;
  __asm__ volatile("syscall\n\t"
                   "test %%rax, %%rax\n\t"
                   "jnz 1f\n\t"
                   "xor %%ebp, %%ebp\n\t"
                   "mov %%r13, %%rdi\n\t"
                   "call *%%r12\n\t"
                   "hlt\n"
                   "1:"
                   : "=a"(result)
                   : "0"((long)SYS_clone3), "D"(&arguments), "S"(sizeof arguments), "r"(function),
                     "r"(argument)
                   : "rcx", "r11", "cc", "memory");
#else
  register long number __asm__("x8") = SYS_clone3;
  register long result __asm__("x0") = (long)&arguments;
  register long size __asm__("x1") = sizeof arguments;
  register void (*function)(void *) __asm__("x20") = begin;
  register void *argument __asm__("x21") = start;
  __asm__ volatile("svc #0\n\t"
                   "cbnz x0, 1f\n\t"
                   "mov x29, #0\n\t"
                   "mov x0, x21\n\t"
                   "blr x20\n\t"
                   "brk #1\n"
                   "1:"
                   : "+r"(result)
                   : "r"(number), "r"(size), "r"(function), "r"(argument)
                   : "cc", "memory");
#endif
  close(fd);
  return result;
#else
  (void)group, (void)start;
  return -ENOSYS;
#endif
}

static void start(const struct launch *launch) {
  struct run *run = allocate(sizeof *run);
  *run = (struct run){.has_own_directory = launch->cwd[0] == 0,
                      .has_script = launch->script != NULL};
  snprintf(run->key, sizeof run->key, "%s", launch->key);
  snprintf(run->slot, sizeof run->slot, "%s", launch->slot);
  char line[LINE_MAX_BYTES];
  int outputs[2] = {-1, -1};
  int error = prepare(launch, outputs);
  if (error != 0) {
    say(line, snprintf(line, sizeof line, "r %s %d\n", launch->key, error));
    free(run);
  } else {
    char pwd[PATH_MAX + 8];
    if (launch->cwd[0] != 0) snprintf(pwd, sizeof pwd, "PWD=%s", launch->cwd);
    else snprintf(pwd, sizeof pwd, "PWD=%s/%s/work", directory, launch->slot);
    char **env = make_env(launch, pwd);
    char **by_shell = allocate((launch->argv_count + 2) * sizeof *by_shell);
    for (int i = 1; i <= launch->argv_count; i++) by_shell[i + 1] = launch->argv[i];
    struct birth birth = {.length = 0, .failure = NULL};
    uint64_t before_ns = now_ns(CLOCK_BOOTTIME);
    struct start about = {launch, &birth, pwd + 4, outputs, env, by_shell, before_ns, 0};
    crash_point(1, getpid());
    pid_t pid = launch->group[0] == 0 ? -1 : fork_into(launch->group, &about);
    if (pid < 0) {
      about.must_enter = launch->group[0] != 0; /* an old kernel, or a sandbox without clone3 */
      pid = vfork();
      if (pid == 0) begin(&about);
    }
    run->begin_us = birth.begin_us != 0 ? birth.begin_us : before_ns / 1000;
    if (pid < 0) {
      end_run(run, "unforked", errno, NULL);
      free(run);
    } else {
      run->pid = pid;
      run->has_failed = birth.failure != NULL;
      if (run->has_failed) snprintf(run->failure, sizeof run->failure, "%s", birth.failure);
      run->failure_errno = birth.failure_errno;
      add(run);
      crash_point(4, getpid());
      if (birth.length > 0 && !run->has_failed) say(birth.line, birth.length);
    }
    free(by_shell);
    free(env);
  }
  for (int i = 0; i < 2; i++)
    if (outputs[i] >= 0) close(outputs[i]);
}

/* ---- frames ---- */

static char *take_part(char **at, char *end) {
  char *part = *at;
  char *nul = memchr(part, 0, end - part);
  if (nul == NULL) {
    errno = EPROTO;
    quit("a frame is not complete");
  }
  *at = nul + 1;
  return part;
}

static char **take_parts(char **at, char *end, int count) {
  if (count < 0 || count > end - *at) {
    errno = EPROTO;
    quit("a frame counts wrong");
  }
  char **parts = allocate((count + 1) * sizeof *parts);
  for (int i = 0; i < count; i++) parts[i] = take_part(at, end);
  parts[count] = NULL;
  return parts;
}

static void handle(char *frame, size_t length) {
  char *at = frame, *end = frame + length;
  struct launch launch;
  launch.key = take_part(&at, end);
  launch.slot = take_part(&at, end);
  launch.cwd = take_part(&at, end);
  launch.group = take_part(&at, end);
  launch.env_count = atoi(take_part(&at, end));
  launch.argv_count = atoi(take_part(&at, end));
  launch.limit_count = atoi(take_part(&at, end));
  launch.env = take_parts(&at, end, launch.env_count);
  launch.argv = take_parts(&at, end, launch.argv_count);
  launch.limits = take_parts(&at, end, launch.limit_count);
  /* A mark before the script tells an empty one from none. */
  launch.script = at < end ? at + 1 : NULL;
  launch.script_bytes = at < end ? end - at - 1 : 0;
  if (launch.argv_count < 1 || strlen(launch.key) >= KEY_MAX || strlen(launch.slot) >= 24) {
    errno = EPROTO;
    quit("a frame names no program or too long a run");
  }
  start(&launch);
  free(launch.env);
  free(launch.argv);
  free(launch.limits);
}

static char *input;
static size_t input_bytes, input_room;
static int has_base;

static uint32_t length_at(size_t at) {
  unsigned char *bytes = (unsigned char *)input + at;
  return (uint32_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

/* The first frame is the environment of every command; it stays in memory. */
static void take_base(const char *frame, size_t length) {
  char *copy = allocate(length + 1);
  memcpy(copy, frame, length);
  copy[length] = 0;
  int count = 0;
  for (size_t i = 0; i < length; i++) count += copy[i] == 0;
  base_env = allocate((count + 2) * sizeof *base_env);
  for (char *at = copy; at < copy + length; at += strlen(at) + 1) base_env[base_count++] = at;
  has_base = 1;
}

/* Handles one frame; false when none is complete. */
static size_t input_at;

static int handle_frame(void) {
  if (input_bytes - input_at < 4) return 0;
  size_t length = length_at(input_at);
  if (length > FRAME_MAX) {
    errno = EPROTO;
    quit("a frame is too long");
  }
  if (input_bytes - input_at - 4 < length) return 0;
  if (has_base) handle(input + input_at + 4, length);
  else take_base(input + input_at + 4, length);
  input_at += 4 + length;
  return 1;
}

/* False when there will be no more. */
static int read_input(void) {
  memmove(input, input + input_at, input_bytes - input_at);
  input_bytes -= input_at;
  input_at = 0;
  if (input_room - input_bytes < 64 * 1024) {
    input_room = input_room * 2 + 128 * 1024;
    input = realloc(input, input_room);
    if (input == NULL) quit("memory");
  }
  ssize_t got = read(0, input + input_bytes, input_room - input_bytes);
  if (got > 0) input_bytes += got;
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/* ---- the two processes ---- */

/* The title in `ps` and in /proc/<pid>/cmdline; at most as long as the first. */
static void set_title(char *title, const char *role) {
  static size_t room;
  if (room == 0) room = strlen(title);
  char text[PATH_MAX + 32];
  snprintf(text, sizeof text, "busbar %s %s", role, directory);
  memset(title, 0, room);
  strncpy(title, text, room);
  snprintf(text, sizeof text, "busbar-%.8s", role);
  prctl(PR_SET_NAME, text);
}

static void watch(int epoll, int fd) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) quit("epoll");
}

static void be_launcher(uint64_t before_ns, pid_t keeper) {
  uint64_t ticks = read_ticks("/proc/self/stat");
  char path[64], line[LINE_MAX_BYTES];
  always_read_ticks = ticks < before_ns / TICK_NS || ticks > now_ns(CLOCK_BOOTTIME) / TICK_NS;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)keeper);
  int length = snprintf(line, sizeof line, "l %d %llu %d %llu\n", (int)getpid(),
                        (unsigned long long)ticks, (int)keeper,
                        (unsigned long long)read_ticks(path));
  record(line, length);
  agent_fd = fcntl(1, F_DUPFD_CLOEXEC, 3);
  dup2(null_fd, 1);
  say(line, length);
  flush_said();

  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (signals < 0 || epoll < 0) quit("epoll");
  watch(epoll, signals);
  watch(epoll, 0);
  int is_open = 1, has_frame = 0, unsaid = 0;
  while (is_open || has_frame || running > 0) {
    struct epoll_event events[2];
    int count = epoll_wait(epoll, events, 2, has_frame ? 0 : -1);
    for (int i = 0; i < count; i++) {
      if (events[i].data.fd == signals) {
        struct signalfd_siginfo one; /* there is never more: SIGCHLD does not queue */
        if (read(signals, &one, sizeof one) > 0) collect(WNOHANG);
      } else if (!has_frame && !read_input()) {
        /* The agent is gone, or wants no more: what runs goes on, and its end is recorded. */
        epoll_ctl(epoll, EPOLL_CTL_DEL, 0, NULL);
        is_open = 0;
        record("d\n", 2);
      }
    }
    has_frame = handle_frame(); /* one, so that ends do not wait behind starts */
    unsaid += has_frame;
    if (has_frame && unsaid < SAY_AFTER_FRAMES) continue;
    flush_said();
    unsaid = 0;
  }
  _exit(0);
}

/* Takes up what was recorded since the last call: who has begun and not ended. */
static void read_record(void) {
  static FILE *file;
  if (file == NULL) file = fdopen(openat(directory_fd, "record", O_RDONLY | O_CLOEXEC), "r");
  if (file == NULL) quit("record");
  clearerr(file); /* it may have grown */
  char line[LINE_MAX_BYTES], key[KEY_MAX], slot[24], what[16];
  while (fgets(line, sizeof line, file) != NULL) {
    int pid, number;
    unsigned long long ticks, epoch_ms, begin_us;
    if (sscanf(line, "s %79s %23s %d %llu %llu %llu", key, slot, &pid, &ticks, &epoch_ms,
               &begin_us) == 6) {
      struct run *run = allocate(sizeof *run);
      /* Whether it has a script is not known here; at worst its directory is not used again. */
      *run = (struct run){.pid = pid, .begin_us = begin_us, .has_script = 1};
      memcpy(run->key, key, sizeof key);
      memcpy(run->slot, slot, sizeof slot);
      add(run);
    } else if (sscanf(line, "u %79s %d %15s %d", key, &pid, what, &number) == 4) {
      struct run *run = *find(pid);
      if (run == NULL) continue;
      run->has_failed = 1;
      memcpy(run->failure, what, sizeof what);
      run->failure_errno = number;
    } else if (sscanf(line, "e %79s %d", key, &pid) == 2) {
      struct run **at = find(pid);
      if (*at != NULL && strcmp((*at)->key, key) == 0) drop(at);
    }
  }
}

/* Whether a process that the launcher made is still on its way to its command. */
static int is_anyone_on_the_way(void) {
  char own[PATH_MAX], theirs[PATH_MAX], path[64];
  FILE *children = fopen("/proc/self/task/self/children", "r");
  if (children == NULL) {
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    children = fopen(path, "r");
  }
  if (children == NULL) return 0;
  ssize_t own_bytes = readlink("/proc/self/exe", own, sizeof own);
  int pid, found = 0;
  while (!found && fscanf(children, "%d", &pid) == 1) {
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t bytes = readlink(path, theirs, sizeof theirs);
    found = bytes > 0 && bytes == own_bytes && memcmp(own, theirs, bytes) == 0;
  }
  fclose(children);
  return found;
}

static void be_keeper(pid_t launcher) {
  is_keeper = 1;
  for (;;) {
    siginfo_t info;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      _exit(0);
    }
    if (info.si_pid == launcher) break;
    waitpid(info.si_pid, NULL, 0); /* left behind by a command that has ended */
  }
  int status;
  waitpid(launcher, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) _exit(0);
  for (;;) {
    int is_on_the_way = is_anyone_on_the_way(); /* asked first: it records itself, then begins */
    read_record();
    if (running == 0 && !is_on_the_way) break;
    if (!collect(is_on_the_way ? WNOHANG : 0)) break;
    if (is_on_the_way) usleep(1000);
  }
  _exit(0);
}

int main(int count, char **arguments) {
  if (count != 2) return 2;
  directory = arguments[1];
  directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (directory_fd < 0 || null_fd < 0) quit(directory);
  record_fd = openat(directory_fd, "record", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (record_fd < 0) quit("record");
  /* Blocked, not ignored: a TERM to everything loses no exit code, and commands get the defaults. */
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) quit("subreaper");
  set_title(arguments[0], "keeper");
  pid_t keeper = getpid();
  uint64_t before_ns = now_ns(CLOCK_BOOTTIME);
  pid_t launcher = fork();
  if (launcher < 0) quit("fork");
  if (launcher == 0) {
    set_title(arguments[0], "launcher");
    be_launcher(before_ns, keeper);
  }
  dup2(null_fd, 0);
  dup2(null_fd, 1); /* the agent hears the launcher end */
  be_keeper(launcher);
}
