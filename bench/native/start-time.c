/* A task that tells when it started: writes the monotonic clock, which Node's process.hrtime reads
 * too, into the file it is given. The clock is the first thing it looks at. */
#include <stdio.h>
#include <time.h>

int main(int count, char **arguments) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  FILE *file = count == 2 ? fopen(arguments[1], "w") : NULL;
  if (file == NULL) return 2;
  fprintf(file, "%lld\n", now.tv_sec * 1000000000LL + now.tv_nsec);
  return fclose(file) == 0 ? 0 : 1;
}
