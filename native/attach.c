/*
 * Runs one command whose standard input, or whose terminal, is a client somewhere else. The agent
 * starts it in the place of the command; docs/design/attached-runs.md explains the design, and
 * attach-frames.ts the frames.
 *
 *   client <-- server <-- agent <--socket--> this <--pipe or pseudo terminal--> command
 *
 *   attach <directory> <name> stdin|terminal <hang up ms> <log bytes> -- <command...>
 *
 * It listens on the socket <directory>/<name>. One connection counts: a new one takes the place of
 * the one before. Frames are a letter, the length of what follows (4 bytes) and that; numbers have
 * their highest byte first.
 *
 *   from the agent                              to the agent
 *   O output offset (8), rows (2), columns (2)  O input offset (8)     first, once on a connection
 *   D offset (8), bytes: of the input           D offset (8), bytes: of the terminal's output
 *   E offset (8): the input ends here           E offset (8): the output ends here
 *   A offset (8): the client has the output     A offset (8): the command's pipe has the input
 *   W rows (2), columns (2)
 *
 * At most WINDOW bytes are held of each direction. Bytes that nobody acknowledged stay here, so a
 * client that lost its link goes on at the offsets of O. When nobody is connected for longer than
 * <hang up ms> and the command may still want something of the client, the command is hung up.
 * Then this ends as the command does: with its exit code, or by its signal.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define WINDOW (256 * 1024)
#define DATA_MAX (64 * 1024)    /* of one frame that comes */
#define PART 4096               /* of one frame that goes */
#define ACK_EVERY (WINDOW / 16) /* bytes */
#define KILL_AFTER_MS 5000      /* a hang-up that nobody heeds */
#define FLUSH_MS 5000           /* without progress, for a client to take the last of the output */

/* Bytes from `from` up to `to`, by their offsets in the whole stream. */
struct ring {
  char bytes[WINDOW];
  uint64_t from, to;
};

static struct ring input, output; /* input: received and not written; output: read and not seen */
static uint64_t input_end = UINT64_MAX, input_told;
static uint64_t output_sent;
static int is_terminal, input_is_open = 1, output_is_open;
static int client = -1, listener = -1, signals = -1;
static int command_in = -1;  /* the pipe, or the terminal's master */
static int command_end = -1; /* the command's side of it */
static int has_opened, is_open_told, is_end_told; /* on this connection */
static pid_t command;
static int has_ended, is_stopped, end_status;
static uint64_t alone_since_ms, hung_up_at_ms, progress_ms;
static long long log_left;
static char **words;

static uint64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void fail(int code, const char *what) {
  dprintf(2, "busbar: %s: %s\n", what, strerror(errno));
  _exit(code);
}

static void put64(char *at, uint64_t value) {
  for (int i = 7; i >= 0; i--, value >>= 8) at[i] = (char)value;
}

static uint64_t get(const char *at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) value = value << 8 | (unsigned char)at[i];
  return value;
}

/* As much as lies in one piece. */
static size_t ring_piece(const struct ring *ring, uint64_t from, uint64_t to, char **at) {
  size_t start = from % WINDOW, length = to - from;
  *at = (char *)ring->bytes + start;
  return length < WINDOW - start ? length : WINDOW - start;
}

/* ---- the command ---- */

static void resize(unsigned rows, unsigned columns) {
  struct winsize size = {.ws_row = rows, .ws_col = columns};
  if (is_terminal && rows > 0 && columns > 0) ioctl(command_in, TIOCSWINSZ, &size);
}

/* A pipe, or a pseudo terminal. */
static void open_ends(void) {
  int ends[2];
  if (!is_terminal) {
    if (pipe2(ends, O_CLOEXEC) != 0) fail(126, "pipe");
    command_end = ends[0];
    command_in = ends[1];
  } else {
    char name[64];
    command_in = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (command_in < 0 || grantpt(command_in) != 0 || unlockpt(command_in) != 0 ||
        ptsname_r(command_in, name, sizeof name) != 0)
      fail(126, "this machine gives no pseudo terminal");
    command_end = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (command_end < 0) fail(126, name);
  }
  fcntl(command_in, F_SETFL, O_NONBLOCK);
}

/* In the words of the agent, which sees only the exit code. */
static void not_found(const char *program) {
  char directory[1024];
  const char *path = getenv("PATH");
  if (strchr(program, '/') == NULL)
    dprintf(2, "busbar: program not found: %s; looked in PATH=%.500s\n", program, path == NULL ? "" : path);
  else if (access(program, F_OK) == 0)
    dprintf(2, "busbar: program not found: the interpreter of %s\n", program);
  else if (*program == '/' || getcwd(directory, sizeof directory) == NULL)
    dprintf(2, "busbar: program not found: %s\n", program);
  else
    dprintf(2, "busbar: program not found: %s; looked in %s\n", program, directory);
  _exit(127);
}

/* In the new process. */
static void begin(void) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (is_terminal) {
    setsid();
    if (ioctl(command_end, TIOCSCTTY, 0) != 0) fail(126, "cannot take its terminal");
    for (int fd = 0; fd < 3; fd++) dup2(command_end, fd);
  } else if (dup2(command_end, 0) < 0) {
    fail(126, "cannot take its standard input");
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execvp(words[0], words);
  if (errno == ENOENT) not_found(words[0]);
  fail(126, words[0]);
}

static void start_command(void) {
  command = fork();
  if (command < 0) fail(126, "fork");
  if (command == 0) begin();
  if (is_terminal) return; /* its end stays open here: the terminal ends with the command */
  close(command_end);
  command_end = -1;
}

static void signal_command(int number) {
  if (command <= 0 || has_ended) return;
  if (!is_terminal) {
    kill(-getpgrp(), number); /* this process is in it, and has the signal blocked */
    return;
  }
  pid_t foreground = tcgetpgrp(command_in);
  if (foreground > 0 && foreground != command) kill(-foreground, number);
  kill(-command, number);
}

static void hang_up(const char *why) {
  if (hung_up_at_ms != 0) return;
  hung_up_at_ms = now_ms();
  if (why != NULL) dprintf(2, "busbar: %s\n", why);
  signal_command(SIGHUP);
  signal_command(SIGCONT);
}

static void close_input(void) {
  input_is_open = 0;
  if (is_terminal) return;
  if (command_in >= 0) close(command_in);
  command_in = -1;
}

static void write_input(void) {
  while (input.from < input.to) {
    char *at;
    size_t length = ring_piece(&input, input.from, input.to, &at);
    ssize_t put = write(command_in, at, length);
    if (put > 0) input.from += put;
    else if (put < 0 && errno == EINTR) continue;
    else if (put < 0 && errno == EAGAIN) return;
    else return close_input(); /* the command does not read any more */
  }
  if (input.from == input_end) close_input();
}

static void read_output(void) {
  while (output.to - output.from < WINDOW) {
    char *at;
    size_t length = ring_piece(&output, output.to, output.from + WINDOW, &at);
    ssize_t got = read(command_in, at, length < PART ? length : PART);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (has_ended || errno != EAGAIN) output_is_open = 0;
      return;
    }
    size_t kept = got < log_left ? (size_t)got : (size_t)(log_left < 0 ? 0 : log_left);
    if (kept > 0 && write(1, at, kept) > 0) log_left -= kept;
    output.to += got;
    if (has_ended) progress_ms = now_ms();
  }
}

static void collect(void) {
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != command) continue;
    has_ended = 1;
    end_status = status;
    progress_ms = now_ms();
    if (command_end >= 0) close(command_end);
    command_end = -1;
  }
}

/* ---- the connection ---- */

static char received[DATA_MAX + 64];
static size_t received_bytes;
static char sending[PART + 64];
static size_t sending_from, sending_to;

static void drop_client(void) {
  if (client >= 0) close(client);
  client = -1;
  alone_since_ms = now_ms();
}

static void accept_client(void) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  struct ucred peer;
  socklen_t length = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != geteuid()) {
    close(fd);
    return;
  }
  drop_client();
  client = fd;
  received_bytes = sending_from = sending_to = 0;
  has_opened = is_open_told = is_end_told = 0;
}

/* False: it is no frame that may come now. */
static int open_connection(const char *body, size_t length) {
  if (length != 12 || has_opened) return 0;
  uint64_t from = get(body, 8);
  if (from < output.from || from > output.to) return 0;
  output.from = output_sent = from;
  has_opened = 1;
  input_told = input.from;
  resize(get(body + 8, 2), get(body + 10, 2));
  if (command == 0) start_command();
  return 1;
}

static int take_input(const char *body, size_t length) {
  if (length < 8 || !has_opened) return 0;
  if (!input_is_open) return 1; /* nobody reads it: neither kept nor acknowledged */
  uint64_t offset = get(body, 8);
  body += 8;
  length -= 8;
  if (offset != input.to || input.to + length > input.from + WINDOW) return 0;
  if (input.to + length > input_end) return 0;
  while (length > 0) {
    char *at;
    size_t piece = ring_piece(&input, input.to, input.from + WINDOW, &at);
    if (piece > length) piece = length;
    memcpy(at, body, piece);
    input.to += piece;
    body += piece;
    length -= piece;
  }
  write_input();
  return 1;
}

static int end_input(const char *body, size_t length) {
  if (length != 8 || !has_opened) return 0;
  if (!input_is_open || is_terminal) return 1;
  if (get(body, 8) != input.to) return 0;
  input_end = input.to;
  write_input();
  return 1;
}

static int take_seen(const char *body, size_t length) {
  if (length != 8 || !has_opened) return 0;
  uint64_t seen = get(body, 8);
  if (seen < output.from || seen > output_sent) return 0;
  output.from = seen;
  if (has_ended) progress_ms = now_ms();
  return 1;
}

static int take_frame(char letter, const char *body, size_t length) {
  switch (letter) {
    case 'O': return open_connection(body, length);
    case 'D': return take_input(body, length);
    case 'E': return end_input(body, length);
    case 'A': return take_seen(body, length);
    case 'W':
      if (length != 4) return 0;
      resize(get(body, 2), get(body + 2, 2));
      return 1;
    default: return 0;
  }
}

static void read_client(void) {
  ssize_t got = read(client, received + received_bytes, sizeof received - received_bytes);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return drop_client();
  received_bytes += got;
  size_t at = 0;
  while (received_bytes - at >= 5) {
    size_t length = get(received + at + 1, 4);
    if (length > DATA_MAX + 8) return drop_client();
    if (received_bytes - at - 5 < length) break;
    if (!take_frame(received[at], received + at + 5, length)) return drop_client();
    at += 5 + length;
  }
  memmove(received, received + at, received_bytes - at);
  received_bytes -= at;
}

static void add_frame(char letter, uint64_t offset, const char *body, size_t length) {
  char *at = sending + sending_to;
  at[0] = letter;
  for (int i = 0; i < 4; i++) at[1 + i] = (char)((8 + length) >> (24 - 8 * i));
  put64(at + 5, offset);
  if (length > 0) memcpy(at + 13, body, length);
  sending_to += 13 + length;
}

/* Puts the next frames together; false: there is nothing to send. */
static int fill_sending(void) {
  if (client < 0 || !has_opened) return 0;
  if (sending_from < sending_to) return 1;
  sending_from = sending_to = 0;
  if (!is_open_told) {
    add_frame('O', input.to, NULL, 0);
    is_open_told = 1;
    if (input_told > 0) add_frame('A', input_told, NULL, 0);
  }
  uint64_t untold = input.from - input_told;
  if (untold >= ACK_EVERY || (untold > 0 && input.from == input.to)) {
    input_told = input.from;
    add_frame('A', input_told, NULL, 0);
  }
  if (output_sent < output.to) {
    char *at;
    size_t length = ring_piece(&output, output_sent, output.to, &at);
    if (length > PART) length = PART;
    add_frame('D', output_sent, at, length);
    output_sent += length;
  } else if (has_ended && !output_is_open && !is_end_told) {
    add_frame('E', output.to, NULL, 0);
    is_end_told = 1;
  }
  return sending_to > 0;
}

static void write_client(void) {
  while (fill_sending()) {
    ssize_t put = send(client, sending + sending_from, sending_to - sending_from, MSG_NOSIGNAL);
    if (put > 0) sending_from += put;
    else if (put < 0 && errno == EINTR) continue;
    else if (put < 0 && errno == EAGAIN) return;
    else return drop_client();
  }
}

/* ---- the loop ---- */

static void listen_at(const char *directory, const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(name) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    fail(126, name);
  }
  strcpy(address.sun_path, name);
  /* Relative: a whole path may be too long for an address. */
  int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (here < 0 || chdir(directory) != 0) fail(126, directory);
  unlink(name);
  listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  mode_t mask = umask(0177);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
      listen(listener, 4) != 0)
    fail(126, "cannot listen for its client");
  umask(mask);
  if (fchdir(here) != 0) fail(126, "cannot return to its directory");
  close(here);
}

static void finish(const char *directory, const char *name) {
  int folder = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) unlinkat(folder, name, 0);
  write_client();
  if (hung_up_at_ms != 0 && !is_stopped) end_status = SIGHUP; /* its input was not all there */
  if (!WIFSIGNALED(end_status)) _exit(WEXITSTATUS(end_status));
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, WTERMSIG(end_status));
  signal(WTERMSIG(end_status), SIG_DFL);
  kill(getpid(), WTERMSIG(end_status));
  sigprocmask(SIG_UNBLOCK, &one, NULL);
  _exit(128 + WTERMSIG(end_status));
}

static void take_signals(void) {
  struct signalfd_siginfo info;
  while (read(signals, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD) collect();
    if (info.ssi_signo != SIGTERM) continue;
    is_stopped = 1;
    if (command == 0) {
      end_status = SIGTERM;
      has_ended = 1;
    } else if (is_terminal) { /* another session: nobody else tells it; shells ignore TERM */
      signal_command(SIGTERM);
      signal_command(SIGHUP);
      signal_command(SIGCONT);
    }
  }
}

/* Milliseconds until something is due. */
static int look_at_times(uint64_t hang_up_ms) {
  uint64_t now = now_ms();
  int needs_client = is_terminal || (input_is_open && input_end == UINT64_MAX);
  if (needs_client && !has_ended && client < 0 && hung_up_at_ms == 0) {
    uint64_t due = alone_since_ms + hang_up_ms;
    if (now < due) return (int)(due - now) + 1;
    if (command == 0) {
      dprintf(2, "busbar: no client came for its terminal\n");
      end_status = SIGHUP;
      has_ended = 1;
      return 0;
    }
    hang_up(is_terminal ? NULL : "its standard input is not complete and its client is gone: hung up");
  }
  if (hung_up_at_ms != 0 && !has_ended) {
    uint64_t due = hung_up_at_ms + KILL_AFTER_MS;
    if (now < due) return (int)(due - now) + 1;
    if (is_terminal) signal_command(SIGKILL);
    else kill(command, SIGKILL);
    return 100;
  }
  return -1;
}

/* Nothing is left to do. */
static int is_done(void) {
  if (!has_ended) return 0;
  if (command == 0 || !is_terminal) return 1;
  if (output_is_open && output.to - output.from < WINDOW) return 0;
  if (client < 0) return 1; /* the log has it */
  if (is_end_told && output.from == output.to && sending_from == sending_to) return 1;
  return now_ms() - progress_ms > FLUSH_MS;
}

int main(int count, char **arguments) {
  if (count < 8 || strcmp(arguments[6], "--") != 0) return 2;
  is_terminal = strcmp(arguments[3], "terminal") == 0;
  uint64_t hang_up_ms = strtoull(arguments[4], NULL, 10);
  log_left = strtoll(arguments[5], NULL, 10);
  words = arguments + 7;
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  sigset_t heard;
  sigemptyset(&heard);
  sigaddset(&heard, SIGCHLD);
  sigaddset(&heard, SIGTERM);
  signals = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) fail(126, "signalfd");
  listen_at(arguments[1], arguments[2]);
  open_ends();
  output_is_open = is_terminal;
  alone_since_ms = now_ms();
  if (!is_terminal) start_command(); /* a terminal is not begun before its size is known */
  while (!is_done()) {
    int wait_ms = look_at_times(hang_up_ms);
    if (has_ended && wait_ms < 0) wait_ms = 100;
    short writes = input_is_open && input.from < input.to ? POLLOUT : 0;
    short reads = output_is_open && command > 0 && output.to - output.from < WINDOW ? POLLIN : 0;
    int asks = command_in >= 0 && (writes || reads || !is_terminal); /* a pipe tells when nobody reads */
    struct pollfd fds[4] = {
        {.fd = signals, .events = POLLIN},
        {.fd = listener, .events = POLLIN},
        {.fd = client, .events = POLLIN | (fill_sending() ? POLLOUT : 0)},
        {.fd = asks ? command_in : -1, .events = writes | reads},
    };
    if (poll(fds, 4, wait_ms) < 0 && errno != EINTR) fail(126, "poll");
    if (fds[0].revents) take_signals();
    if (fds[2].revents & (POLLIN | POLLHUP | POLLERR)) read_client();
    if (fds[1].revents) accept_client();
    if (!is_terminal && fds[3].revents & POLLERR) close_input();
    else if (writes && fds[3].revents) write_input();
    if (output_is_open && (has_ended || fds[3].revents)) read_output();
    write_client();
  }
  finish(arguments[1], arguments[2]);
}
