import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { JobspecItem, JobspecTask } from "../../src/core/jobspec/model.ts";
import { checkJobspec, parseJobspec } from "../../src/core/jobspec/read/parse.ts";
import { describeProblem } from "../../src/core/jobspec/read/problems.ts";
import { toBusbarJobs } from "../../src/core/jobspec/write/to-busbar.ts";
import { toNextgen } from "../../src/core/jobspec/write/to-nextgen.ts";

/** Published jobspecs of others. */
const data = fileURLToPath(new URL("../../../shared/data/", import.meta.url));
const isThere = existsSync(join(data, "jobspec"));

function yamlFiles(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return yamlFiles(path);
    return path.endsWith(".yaml") && !name.includes("config") ? [path] : [];
  });
}

const files = !isThere
  ? []
  : ["jobspec", "rainbow", "lammps/jobspecs"].flatMap((name) => yamlFiles(join(data, name)));

/** Names a resource and a group that it does not have. */
const WRONG = "jobspec/examples-go/nextgen/v1/example1/jobspec.yaml";

const read = (name: string): string => readFileSync(join(data, name), "utf8");
const paths = (items: readonly JobspecItem[]): readonly string[] =>
  items.flatMap((item) =>
    item.kind === "group" ? [`${item.path}/`, ...paths(item.items)] : [item.path],
  );

describe.skipIf(!isThere)(
  isThere ? "published examples" : "published examples (skipped: the public data is not there)",
  () => {
    test("there are some of every dialect", () => {
      const dialects = files.map((file) => {
        const checked = checkJobspec(readFileSync(file, "utf8"));
        return checked.kind === "valid" ? checked.jobspec.dialect : "invalid";
      });
      expect(files.length).toBeGreaterThanOrEqual(28);
      expect([...new Set(dialects)].sort()).toEqual([
        "experimental",
        "flux-v1",
        "invalid",
        "nextgen",
      ]);
      expect(dialects.filter((each) => each === "invalid")).toHaveLength(1);
    });

    for (const file of files.filter((each) => !each.endsWith(WRONG))) {
      test(`${relative(data, file)} is read, and equals its nextgen form`, () => {
        const jobspec = parseJobspec(readFileSync(file, "utf8"));
        const again = parseJobspec(JSON.stringify(toNextgen(jobspec)));
        expect(paths(again.items)).toEqual(paths(jobspec.items));
        expect(again.items.map(({ resources }) => resources)).toEqual(
          jobspec.items.map(({ resources }) => resources),
        );
      });
    }

    test("the one that names a missing resource is rejected", () => {
      const checked = checkJobspec(read(WRONG));
      expect(checked.kind === "invalid" && checked.problems.map(describeProblem)).toEqual([
        'line 35, column 14: tasks[0].resources: there is no resource named "common"; there are mini-mummi, mummi-gpu, mummi-cpu',
        'line 42, column 10: tasks[1].group: there is no group named "group-1"; there are mini-mummi, train',
      ]);
    });

    test("a group inside of a group, and alternatives", () => {
      const text = read("jobspec/examples-nextgen/examples/machine-learning.yaml");
      const { items } = parseJobspec(text);
      expect(paths(items)).toEqual([
        "mini-mummi/",
        "mini-mummi/train/",
        "mini-mummi/train/train",
        "mini-mummi/test",
      ]);
      const [outer] = items;
      const train = outer?.kind === "group" ? outer.items[0] : undefined;
      expect(train?.asks).toEqual([["mummi-gpu"], ["mummi-cpu"]]);
      const types = train?.resources.map((trees) => trees[0]?.with.map(({ type }) => type));
      expect(types).toEqual([["gpu"], ["core"]]);
    });

    test("a requirement written with value counts", () => {
      const jobspec = parseJobspec(
        read("jobspec/examples-nextgen/examples/hello-world-jobspec.yaml"),
      );
      expect(jobspec.items[0]?.resources[0]?.[0]?.requires).toEqual([
        {
          subsystem: "system",
          conditions: [{ kind: "one-of", field: "cpu.target", values: ["amd64"] }],
        },
      ]);
    });

    test("each field of the lammps jobs may be met by a different vertex", () => {
      const [folder = ""] = readdirSync(join(data, "lammps/jobspecs"));
      const [file = ""] = readdirSync(join(data, "lammps/jobspecs", folder));
      const jobspec = parseJobspec(read(join("lammps/jobspecs", folder, file)));
      const requires = jobspec.items[0]?.resources[0]?.[0]?.requires ?? [];
      expect(requires.map(({ subsystem }) => subsystem)).toEqual([
        "hardware",
        "io.archspec",
        "os",
        "os",
        "os",
      ]);
    });

    test("scripts and steps of the experiments become scripts for one node", () => {
      const text = read("jobspec/examples-experimental/hwloc-amd-jobspec.yaml");
      const jobspec = parseJobspec(text);
      expect((jobspec.items[0] as JobspecTask).work.steps.map(({ kind }) => kind)).toEqual([
        "set-shared",
        "write",
        "stage",
        "submit",
      ]);
      const [job] = toBusbarJobs(jobspec).jobs;
      expect(job?.spec).toMatchObject({ resources: { cpu: 1 } });
      expect(job?.spec.script).toMatch(
        /^#!\/bin\/sh\nset -e\nprintf %s '#!\/bin\/bash\nwhich lstopo/,
      );
    });
  },
);
