import type { KnownProgram, ProgramVersion } from "./programs.ts";
import { versionBy } from "./programs.ts";

const readers = [
  versionBy("openmpi", /\(Open ?MPI\) (\d[\w.]*)/i),
  versionBy("intel-mpi", /Intel\(R\) MPI Library.*?Version (\d[\w.]*)/),
  // Hydra starts the processes of MPICH, and has the same version.
  versionBy("mpich", /HYDRA build details:[\s\S]*?Version:\s+(\d[\w.]*)/),
];

export function readMpi(output: string): ProgramVersion | undefined {
  for (const read of readers) {
    const found = read(output);
    if (found !== undefined) return found;
  }
  return undefined;
}

export const mpiPrograms: readonly KnownProgram[] = ["mpirun", "mpiexec", "mpiexec.hydra"].map(
  (program) => ({ program, args: ["--version"], read: readMpi }),
);
