/*
 * Callers of rainbow that cost next to nothing: HOST PORT CONNECTIONS CALLS SATISFY SUBMIT BYTES.
 * SATISFY and SUBMIT are files with one request each: a HEADERS and a DATA frame of HTTP/2, whose stream is filled in here.
 * Each connection has a thread: it asks which clusters match (the answer must have BYTES bytes), then submits (the answer must have status 1).
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 9, MESSAGE_HEAD = 5, BUFFER = 1 << 20, REQUEST_MAX = 1 << 16 };
enum { DATA = 0, HEADERS = 1, RST_STREAM = 3, SETTINGS = 4, PING = 6, GOAWAY = 7 };
enum { END_STREAM = 1, ACK = 1 };

struct request {
  size_t bytes, data; /* the whole; where the DATA frame begins */
  unsigned char frames[REQUEST_MAX];
};

static struct request satisfy, submit;
static struct sockaddr_in server;
static size_t satisfied_bytes;
static int calls;
static int next_call; /* counted by all threads */
static double *took_ms;
static pthread_barrier_t connected;

struct connection {
  int socket;
  uint32_t stream;
  size_t got;              /* bytes in `input` */
  size_t message;          /* bytes of the answer in `answer` */
  unsigned char input[BUFFER], answer[BUFFER];
};

static void die(const char *why) {
  fprintf(stderr, "rainbow-pairs: %s\n", why);
  exit(1);
}

static double now_ms(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1e3 + at.tv_nsec / 1e6;
}

static double cpu_ms(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
         (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

static uint32_t read24(const unsigned char *at) { return at[0] << 16 | at[1] << 8 | at[2]; }
static uint32_t read32(const unsigned char *at) { return (uint32_t)at[0] << 24 | read24(at + 1); }

static void write32(unsigned char *at, uint32_t value) {
  for (int byte = 0; byte < 4; byte++) at[byte] = value >> (24 - 8 * byte);
}

static void send_all(int socket, const void *bytes, size_t left) {
  for (const char *at = bytes; left > 0;) {
    ssize_t sent = send(socket, at, left, MSG_NOSIGNAL);
    if (sent <= 0) die("the server does not read");
    at += sent;
    left -= sent;
  }
}

static void acknowledge(int socket, int type, const unsigned char *payload, uint32_t bytes) {
  unsigned char frame[HEAD + 8] = {0, 0, bytes, type, ACK};
  memcpy(frame + HEAD, payload, bytes);
  send_all(socket, frame, HEAD + bytes);
}

/* Returns whether this frame ends the answer. */
static int take(struct connection *of, const unsigned char *frame, uint32_t bytes) {
  const unsigned char *payload = frame + HEAD;
  int type = frame[3], flags = frame[4];
  uint32_t stream = read32(frame + 5);
  if (type == SETTINGS && !(flags & ACK)) acknowledge(of->socket, SETTINGS, payload, 0);
  if (type == PING && !(flags & ACK)) acknowledge(of->socket, PING, payload, 8);
  if (type == GOAWAY) die("the server goes away");
  if (stream != of->stream) return 0;
  if (type == RST_STREAM) die("a call was reset");
  if (type == DATA) {
    if (of->message + bytes > BUFFER) die("an answer is too long");
    memcpy(of->answer + of->message, payload, bytes);
    of->message += bytes;
  }
  return (type == DATA || type == HEADERS) && (flags & END_STREAM);
}

/* Sends a request and reads until its answer has ended. */
static void call(struct connection *of, const struct request *request) {
  unsigned char frames[REQUEST_MAX];
  memcpy(frames, request->frames, request->bytes);
  write32(frames + 5, of->stream);
  write32(frames + request->data + 5, of->stream);
  of->message = 0;
  send_all(of->socket, frames, request->bytes);
  for (int ended = 0; !ended;) {
    ssize_t more = recv(of->socket, of->input + of->got, BUFFER - of->got, 0);
    if (more <= 0) die("the connection was closed");
    of->got += more;
    size_t at = 0;
    while (of->got - at >= HEAD && of->got - at >= HEAD + read24(of->input + at)) {
      uint32_t bytes = read24(of->input + at);
      ended |= take(of, of->input + at, bytes);
      at += HEAD + bytes;
    }
    memmove(of->input, of->input + at, of->got -= at);
  }
  of->stream += 2;
  if (of->message < MESSAGE_HEAD) die("a call was refused");
}

static uint64_t varint(const unsigned char **at, const unsigned char *end) {
  uint64_t value = 0;
  for (int shift = 0; *at < end && shift < 64; shift += 7) {
    unsigned char byte = *(*at)++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

/* Field 4 of a SubmitJobResponse is its status. */
static int is_submitted(const struct connection *of) {
  const unsigned char *at = of->answer + MESSAGE_HEAD, *end = of->answer + of->message;
  while (at < end) {
    uint64_t tag = varint(&at, end), value = varint(&at, end);
    if (tag == 4 * 8) return value == 1;
    if ((tag & 7) == 2) at += value;
  }
  return 0;
}

static void pair(struct connection *of) {
  call(of, &satisfy);
  if (of->message - MESSAGE_HEAD != satisfied_bytes) die("other clusters match");
  call(of, &submit);
  if (!is_submitted(of)) die("a submission was not accepted");
}

/* Windows that never close spare the counting. */
static void greet(int socket) {
  static const unsigned char bytes[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                                       "\0\0\6\4\0\0\0\0\0\0\4\x7f\xff\xff\xff"
                                       "\0\0\4\x8\0\0\0\0\0\x7f\xff\0\0";
  send_all(socket, bytes, sizeof bytes - 1);
}

static void *caller(void *unused) {
  (void)unused;
  struct connection *of = calloc(1, sizeof *of);
  int yes = 1;
  of->stream = 1;
  of->socket = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(of->socket, (struct sockaddr *)&server, sizeof server) != 0) die("cannot connect");
  setsockopt(of->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  greet(of->socket);
  pair(of); /* connecting and the first check of the tokens are not measured */
  pthread_barrier_wait(&connected);
  pthread_barrier_wait(&connected); /* the clock has started */
  for (int at; (at = __atomic_fetch_add(&next_call, 1, __ATOMIC_RELAXED)) < calls;) {
    double sent = now_ms();
    pair(of);
    took_ms[at] = now_ms() - sent;
  }
  return NULL;
}

static void read_request(const char *name, struct request *request) {
  FILE *file = fopen(name, "rb");
  if (file == NULL) die("cannot read a request");
  request->bytes = fread(request->frames, 1, REQUEST_MAX, file);
  fclose(file);
  request->data = HEAD + read24(request->frames);
}

static int by_size(const void *a, const void *b) {
  return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b);
}

int main(int count, char **words) {
  if (count != 8) die("HOST PORT CONNECTIONS CALLS SATISFY SUBMIT BYTES");
  server.sin_family = AF_INET;
  server.sin_port = htons(atoi(words[2]));
  if (inet_pton(AF_INET, words[1], &server.sin_addr) != 1) die("HOST is no IPv4 address");
  int connections = atoi(words[3]);
  calls = atoi(words[4]);
  read_request(words[5], &satisfy);
  read_request(words[6], &submit);
  satisfied_bytes = atoi(words[7]);
  took_ms = calloc(calls, sizeof *took_ms);
  pthread_t *threads = calloc(connections, sizeof *threads);
  pthread_barrier_init(&connected, NULL, connections + 1);
  for (int at = 0; at < connections; at++) pthread_create(&threads[at], NULL, caller, NULL);
  pthread_barrier_wait(&connected);
  double begin = now_ms(), cpu = cpu_ms();
  pthread_barrier_wait(&connected);
  for (int at = 0; at < connections; at++) pthread_join(threads[at], NULL);
  double seconds = (now_ms() - begin) / 1e3;
  qsort(took_ms, calls, sizeof *took_ms, by_size);
  printf("called {\"seconds\":%f,\"cpuMs\":%f,\"p50\":%f,\"p99\":%f}\n", seconds,
         (cpu_ms() - cpu) / calls, took_ms[calls / 2], took_ms[(int)(calls * 0.99)]);
  return 0;
}
