import { describe, expect, test } from "vitest";
import { parseCpuMax, parseMemoryMax, parseOwnGroup, readCgroupLimits } from "./cgroup.ts";
import { compilers } from "./compilers.ts";
import { parseCpuinfo } from "./cpu.ts";
import { parseAllowedCpus, parseCpuList } from "./cpu-list.ts";
import { describeGpus, findGpus } from "./gpus.ts";
import { readMpi } from "./mpi.ts";
import { countNuma } from "./numa.ts";
import { parseKernel, parseOsRelease } from "./os.ts";
import { findPrograms } from "./programs.ts";
import { parseSpackFind, parseSpackIndex, Spack } from "./spack.ts";
import { createFakeMachine } from "./testing/fake-machine.ts";

const thread = (number: number, socket: number, core: number, flags = "fpu avx2 sse2") =>
  `processor\t: ${number}
vendor_id\t: GenuineOwn
cpu family\t: 6
model\t\t: 85
model name\t: Own Chip 9000
cpu MHz\t\t: ${2_000 + number}.123
physical id\t: ${socket}
core id\t\t: ${core}
flags\t\t: ${flags}
`;
const armThread = (number: number, part: string, features: string) =>
  `processor\t: ${number}\nCPU implementer\t: 0x41\nCPU part\t: ${part}\nFeatures\t: ${features}\n`;

describe("processors", () => {
  const two = [thread(0, 0, 0), thread(1, 0, 0), thread(2, 1, 0), thread(3, 1, 0)].join("\n");

  test("two sockets with two threads per core: one model, its features in order", () => {
    expect(parseCpuinfo(two, undefined)).toEqual({
      sockets: 2,
      entries: [
        {
          name: "Own Chip 9000",
          vendor: "GenuineOwn",
          family: 6,
          model: 85,
          cores: 2,
          threads: 4,
        },
        { feature: "avx2" },
        { feature: "fpu" },
        { feature: "sse2" },
      ],
    });
  });

  test("only usable processors count", () => {
    const { sockets, entries } = parseCpuinfo(two, new Set([0, 1]));
    expect([sockets, entries[0]]).toMatchObject([1, { cores: 1, threads: 2 }]);
  });

  test("a feature is listed when all processors have it, whatever else changes", () => {
    const text = [thread(0, 0, 0, "a b c"), thread(1, 0, 1, "c d b")].join("\n");
    const features = parseCpuinfo(text, undefined).entries.flatMap((entry) =>
      "feature" in entry ? [entry["feature"]] : [],
    );
    expect(features).toEqual(["b", "c"]);
    const later = two.replaceAll(".123", ".999");
    expect(parseCpuinfo(later, undefined)).toEqual(parseCpuinfo(two, undefined));
  });

  test("arm reports neither sockets nor cores; each kind of core is a model", () => {
    const text = [
      armThread(0, "0xd0c", "fp asimd"),
      armThread(1, "0xd0c", "fp asimd"),
      armThread(2, "0xd40", "fp asimd sve"),
    ].join("\n");
    expect(parseCpuinfo(text, undefined)).toEqual({
      sockets: 0,
      entries: [
        { vendor: "ARM", part: "0xd0c", threads: 2 },
        { vendor: "ARM", part: "0xd40", threads: 1 },
        { feature: "asimd" },
        { feature: "fp" },
      ],
    });
  });

  test("an unreadable list is unknown", () => {
    for (const text of ["", "nonsense", "processor : x\n\nflags : a"]) {
      expect(parseCpuinfo(text, undefined)).toEqual({ sockets: 0, entries: [] });
    }
  });

  test("lists of processors", () => {
    expect([...(parseCpuList("0-2,8,10-11\n") ?? [])]).toEqual([0, 1, 2, 8, 10, 11]);
    expect(parseCpuList("a-b")).toBeUndefined();
    expect(parseAllowedCpus("Cpus_allowed:\tf\nCpus_allowed_list:\t0-1\n")?.size).toBe(2);
    expect(parseAllowedCpus("")).toBeUndefined();
  });

  test("memory domains with a processor count", async () => {
    const folder = "/sys/devices/system/node";
    const files = {
      [`${folder}/node0/cpulist`]: "0-3\n",
      [`${folder}/node1/cpulist`]: "4-7\n",
      [`${folder}/node2/cpulist`]: "\n",
      [`${folder}/online`]: "0-2\n",
    };
    const machine = createFakeMachine({ files });
    expect(await countNuma(machine, undefined)).toBe(2);
    expect(await countNuma(machine, new Set([5]))).toBe(1);
    expect(await countNuma(createFakeMachine(), undefined)).toBe(0);
  });
});

describe("control groups", () => {
  test("the smallest limit of the own group and its parents counts", async () => {
    const files = {
      "/proc/self/cgroup": "1:cpu:/old\n0::/a/b\n",
      "/sys/fs/cgroup/cpu.max": "max 100000\n",
      "/sys/fs/cgroup/a/cpu.max": "150000 100000\n",
      "/sys/fs/cgroup/a/b/cpu.max": "400000 100000\n",
      "/sys/fs/cgroup/a/b/memory.max": "1073741824\n",
      "/sys/fs/cgroup/c/memory.max": "1\n",
    };
    expect(await readCgroupLimits(createFakeMachine({ files }))).toEqual({
      cpu: 1.5,
      memoryBytes: 1024 ** 3,
    });
    expect(await readCgroupLimits(createFakeMachine())).toEqual({});
  });

  test("texts of limits", () => {
    expect(["50000 100000", "max 100000", "0 100000", "1 0", "x"].map(parseCpuMax)).toEqual([
      0.5,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(["4096\n", "max\n", "0\n"].map(parseMemoryMax)).toEqual([4096, undefined, undefined]);
    expect(["0::/a", "0::/../x", "3:cpu:/a"].map(parseOwnGroup)).toEqual(["/a", "/", "/"]);
  });
});

describe("the operating system", () => {
  test("has its id as name, with quotes parsed as in a shell", () => {
    const text = `# comment
NAME="Own \\"OS\\""
ID=ownos
VERSION_ID='12.1'
PRETTY_NAME="Own \\"OS\\" 12"
ID_LIKE="debian fedora"
broken line
`;
    expect(parseOsRelease(text)).toEqual([
      { name: "ownos", version: "12.1", like: "debian fedora", pretty: 'Own "OS" 12' },
    ]);
    expect(parseOsRelease("NAME=x")).toEqual([]);
  });

  test("the kernel's version is the beginning of its release", () => {
    expect(parseKernel("Linux\n", "6.1.0-18-amd64\n")).toEqual([
      { name: "linux", version: "6.1.0", release: "6.1.0-18-amd64" },
    ]);
    expect(parseKernel("Linux", "?")).toEqual([]);
  });
});

describe("gpus", () => {
  const nvidia = "/proc/driver/nvidia/gpus";
  const kfd = "/sys/class/kfd/kfd/topology/nodes";

  test("count when they have a driver; processors in the same list do not", async () => {
    const files = {
      [`${nvidia}/0000:01:00.0/information`]: "Model: \t\t Own GPU 80\nIRQ:   41\n",
      [`${nvidia}/0000:02:00.0/information`]: "Model: \t\t Own GPU 80\nIRQ:   42\n",
      "/sys/module/nvidia/version": "535.1\n",
      [`${kfd}/0/properties`]: "cpu_cores_count 8\nsimd_count 0\n",
      [`${kfd}/1/properties`]: "cpu_cores_count 0\nsimd_count 440\ngfx_target_version 90010\n",
      [`${kfd}/1/name`]: "own-amd\n",
    };
    expect(await findGpus(createFakeMachine({ files }))).toEqual({
      count: 3,
      entries: [
        { vendor: "nvidia", name: "Own GPU 80", driver: "535.1", count: 2 },
        { vendor: "amd", name: "own-amd", target: "gfx90a", count: 1 },
      ],
    });
  });

  test("NVIDIA's program, if installed, describes its GPUs; those of other vendors stay", async () => {
    const known = [
      { vendor: "nvidia", name: "Own GPU 80", count: 2 },
      { vendor: "amd", name: "own-amd", count: 1 },
    ];
    const line = "Own GPU 80, 535.1.05, 81920 MiB\n";
    const machine = createFakeMachine({ programs: { "nvidia-smi": line + line } });
    const memory = "81920 MiB";
    expect(await describeGpus(machine, known)).toEqual([
      { vendor: "nvidia", name: "Own GPU 80", driver: "535.1.05", memory, count: 2 },
      known[1],
    ]);
    const failing = createFakeMachine({ programs: { "nvidia-smi": "No devices were found\n" } });
    expect(await describeGpus(failing, known)).toEqual(known);
    expect(await describeGpus(createFakeMachine(), known)).toEqual(known);
  });

  test("without a driver there are none", async () => {
    expect(await findGpus(createFakeMachine())).toEqual({ count: 0, entries: [] });
  });
});

describe("programs", () => {
  const mpis: readonly [string, string | undefined, string?][] = [
    ["mpirun (Open MPI) 4.1.4\n\nReport bugs to http://example.org/\n", "openmpi", "4.1.4"],
    ["mpirun (Open MPI) 5.0.3rc1\n", "openmpi", "5.0.3rc1"],
    ["HYDRA build details:\n    Version:          4.0.2\n    CC: gcc\n", "mpich", "4.0.2"],
    [
      "Intel(R) MPI Library for Linux* OS, Version 2021.8 Build 2022 (id: 33)\n",
      "intel-mpi",
      "2021.8",
    ],
    ["another launcher 1.0", undefined],
  ];
  for (const [output, name, version] of mpis) {
    test(`mpi: ${output.split("\n")[0]}`, () => {
      expect(readMpi(output)).toEqual(name === undefined ? undefined : { name, version });
    });
  }

  const printed: readonly [string, string, string | undefined][] = [
    ["gcc", "gcc (Own 12.2.0-14) 12.2.0\nCopyright (C)", "12.2.0"],
    ["gcc", "gcc (GCC) 8.5.0 20210514 (Own 8.5.0-4)", "8.5.0"],
    ["gcc", "Own clang version 15.0.0 (clang-1500)", undefined],
    ["g++", "g++ (Own) 13.2.0", "13.2.0"],
    ["gfortran", "GNU Fortran (GCC) 11.4.1 2023", "11.4.1"],
    ["clang", "Own clang version 14.0.6\nTarget: x86_64", "14.0.6"],
    ["nvcc", "Cuda compilation tools, release 12.2, V12.2.140", "12.2.140"],
    ["icx", "Own(R) oneAPI DPC++/C++ Compiler 2023.0.0 (2023.0.0.2022)", "2023.0.0"],
    ["nvc", "\nnvc 23.1-0 64-bit target on x86-64 Linux", "23.1-0"],
    ["rustc", "rustc 1.75.0 (82e1608df 2023-12-21)", "1.75.0"],
    ["go", "go version go1.22.1 linux/amd64", "1.22.1"],
  ];
  for (const [program, output, version] of printed) {
    test(`${program}: ${output.trim().split("\n")[0]}`, () => {
      const known = compilers.find((one) => one.program === program);
      expect(known?.read(output)?.version).toBe(version);
    });
  }

  test("lists a program with two names once, and a missing one not at all", async () => {
    const same = { read: readMpi, args: ["--version"] };
    const text = "mpirun (Open MPI) 4.1.4";
    const machine = createFakeMachine({ programs: { mpirun: text, mpiexec: text } });
    const found = await findPrograms(
      machine,
      ["other", "mpirun", "mpiexec"].map((program) => ({ ...same, program })),
    );
    expect(found).toEqual([{ name: "openmpi", version: "4.1.4", path: "/usr/bin/mpirun" }]);
  });
});

describe("spack", () => {
  const spec = (name: string, version: string) => ({ name, version, arch: { target: "own" } });
  const index = JSON.stringify({
    database: {
      version: "7",
      installs: {
        aaa: { spec: spec("zlib", "1.3"), installed: true },
        bbb: { spec: spec("ior", "3.3.0"), installed: true },
        ccc: { spec: spec("ior", "3.3.0"), installed: true },
        ddd: { spec: spec("gone", "1"), installed: false },
        eee: { spec: { name: 4 }, installed: true },
      },
    },
  });
  const both = [
    { name: "ior", version: "3.3.0" },
    { name: "zlib", version: "1.3" },
  ];

  test("lists installed packages, each once, in order", () => {
    expect(parseSpackIndex(index)).toEqual(both);
    expect(parseSpackFind(JSON.stringify([spec("zlib", "1.3"), spec("ior", "3.3.0")]))).toEqual(
      both,
    );
    for (const text of ["", "[]", "{}", '{"database":{"installs":[1]}}', '"x"']) {
      expect(parseSpackIndex(text)).toEqual([]);
    }
    for (const text of ["", "{}", "[1,null]"]) expect(parseSpackFind(text)).toEqual([]);
  });

  const path = "/opt/spack/opt/spack/.spack-db/index.json";

  test("reads the database once, and again when it has changed", async () => {
    const machine = createFakeMachine({
      env: { SPACK_ROOT: "/opt/spack" },
      files: { [path]: index },
    });
    const spack = new Spack();
    expect(await spack.find(machine)).toEqual(both);
    expect(await spack.find(machine)).toEqual(both);
    expect(machine.asked).toEqual([path]);
    machine.files[path] = JSON.stringify({ database: { installs: {} } });
    expect(await spack.find(machine)).toEqual([]);
  });

  test("finds spack by its program, and asks it for a database elsewhere", async () => {
    const near = createFakeMachine({
      files: { "/usr/opt/spack/.spack-db/index.json": index },
      programs: { spack: "never asked" },
    });
    expect(await new Spack().find(near)).toEqual(both);
    const far = createFakeMachine({
      programs: { spack: JSON.stringify([spec("ior", "3.3.0")]) },
    });
    expect(await new Spack().find(far)).toEqual([both[0]]);
    expect(far.asked).toEqual(["/usr/bin/spack find --json"]);
    expect(await new Spack().find(createFakeMachine())).toEqual([]);
  });
});
