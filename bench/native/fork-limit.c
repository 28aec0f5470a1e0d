/* What this machine can do at best: one parent that starts /bin/true with vfork, `parallel` at a
 * time, and does nothing else. Prints the seconds it took and the CPU seconds of all of them. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double seconds(struct timeval value) { return value.tv_sec + value.tv_usec / 1e6; }

static void start(void) {
  static char *const arguments[] = {"/bin/true", NULL};
  pid_t pid = vfork();
  if (pid == 0) {
    execve(arguments[0], arguments, environ);
    _exit(127);
  }
  if (pid < 0) exit(1);
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  int left = atoi(arguments[1]), parallel = atoi(arguments[2]), running = 0, status;
  struct timespec begin, end;
  struct rusage own, children;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  while (left > 0 || running > 0) {
    for (; left > 0 && running < parallel; left--, running++) start();
    if (wait(&status) < 0 || status != 0) return 1;
    running--;
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  getrusage(RUSAGE_SELF, &own);
  getrusage(RUSAGE_CHILDREN, &children);
  printf("%.6f %.6f\n", end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9,
         seconds(own.ru_utime) + seconds(own.ru_stime) + seconds(children.ru_utime) +
             seconds(children.ru_stime));
  return 0;
}
