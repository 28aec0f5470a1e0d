import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const src = join(root, "src");

/**
 * Which folder may import which (and itself). `limits` and `lib` have no state and may be used
 * everywhere but in lib. Files directly in src (main.ts, run-server.ts) wire everything together:
 * they may import all, and nobody may import them.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  gen: ["gen"],
  limits: ["lib"],
  core: ["lib", "limits"],
  ports: ["core", "lib"],
  store: ["ports", "core", "lib", "limits"],
  server: ["ports", "core", "wire", "lib", "limits", "gen"],
  api: ["server", "ports", "core", "wire", "lib", "limits", "gen"],
  agent: ["ports", "client", "core/model", "core/graph", "core/jobspec", "lib", "limits", "gen"],
  client: ["gen", "wire", "lib", "limits"],
  wire: ["gen", "lib", "limits"],
  // Jobspecs are read and converted without a server, and graphs made of what machines have: pure
  // functions, nothing of its state.
  cli: ["client", "wire", "core/jobspec", "core/graph", "core/model", "lib", "limits"],
  system: ["ports", "cli", "lib", "limits"],
};

interface Import {
  readonly file: string;
  readonly target: string;
  readonly isType: boolean;
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return sourceFiles(path);
    return path.endsWith(".ts") ? [path] : [];
  });
}

function foldersIn(folder: string): string[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isDirectory())
    .flatMap((path) => [path, ...foldersIn(path)]);
}

const isIn =
  (folder: string) =>
  (file: string): boolean =>
    dirname(file) === folder;

const isTest = (file: string): boolean => /\.test\.ts$|\/testing\//.test(file);
const productFiles = sourceFiles(src).filter((file) => !isTest(file));

function importsOf(file: string): Import[] {
  const text = readFileSync(file, "utf8");
  const pattern =
    /(?:^|\n)\s*(?:import|export)\s+(type\s+)?[^;'"]*?from\s*["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)|(?:^|\n)import\s*["']([^"']+)["']/g;
  return [...text.matchAll(pattern)].map((match) => ({
    file: relative(root, file),
    target: match[2] ?? match[3] ?? match[4] ?? "",
    isType: match[1] !== undefined,
  }));
}

/** "core/model/job/job.ts" for a path inside src; undefined for a package. */
function inSource(file: string, target: string): string | undefined {
  if (!target.startsWith(".")) return undefined;
  return relative(src, resolve(root, dirname(file), target));
}

const withoutComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");

const folderOf = (path: string): string =>
  path.includes("/") ? (path.split("/")[0] ?? "") : path.replace(/\.ts$/, "");

describe("tidy", () => {
  test("folders import only what the table in ARCHITECTURE.md allows", () => {
    const wrong: string[] = [];
    for (const { file, target } of productFiles.flatMap(importsOf)) {
      const from = relative("src", file);
      const to = inSource(file, target);
      if (to === undefined || to.startsWith("..") || !from.includes("/")) continue;
      const [own, other] = [folderOf(from), folderOf(to)];
      if (own === other) continue;
      const allowed = mayImport[own] ?? [];
      if (!allowed.some((one) => other === one || to.startsWith(`${one}/`))) {
        wrong.push(`${file} imports ${to}: ${own} may import ${allowed.join(", ") || "nothing"}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("the product never imports what tests share, and nothing in src imports tests/", () => {
    const wrong = sourceFiles(src).flatMap((path) =>
      importsOf(path).flatMap(({ file, target }) => {
        const to = inSource(file, target) ?? "";
        if (/^\.\.\/(?:tests|bench)\//.test(to)) return [`${file} imports ${to.slice(3)}`];
        const isShared = /(?:^|\/)testing\//.test(to);
        return isShared && !isTest(path) ? [`${file} imports ${to}: tests alone may`] : [];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test("tests have one clock turned by hand and one silent logger, in src/testing", () => {
    const everything = ["src", "tests", "bench"].flatMap((folder) =>
      sourceFiles(join(root, folder)),
    );
    const holders = (pattern: RegExp): string[] =>
      everything
        .filter((path) => pattern.test(readFileSync(path, "utf8")))
        .map((path) => relative(root, path));
    expect(holders(/^(?:export )?class FakeClock/m)).toEqual(["src/testing/fake-clock.ts"]);
    // All four are silent; a logger that notes one kind spreads the silent one.
    const silent = /\bdebug\b[^\n]*\n?[^\n]*\binfo: \(\) => undefined,?\s*warn: \(\) => undefined/;
    expect(holders(silent)).toEqual(["src/testing/silent-logger.ts"]);
  });

  test("doors never import each other, nor executors each other; gRPC is no door and knows none", () => {
    const wrong = productFiles.flatMap(importsOf).flatMap(({ file, target }) => {
      const to = inSource(file, target) ?? "";
      return ["api", "agent/executors"].flatMap((parent) => {
        const pattern = new RegExp(`^(?:src/)?${parent}/([^/]+)/`);
        const [own, other] = [pattern.exec(file)?.[1], pattern.exec(to)?.[1]];
        const isOther = own !== undefined && other !== undefined && own !== other;
        if (parent === "api" && (other === "grpc" || other === "web")) return []; // what doors share
        return isOther ? [`${file} imports ${to}: both are ${parent}`] : [];
      });
    });
    expect(wrong).toEqual([]);
  });

  test("the core is pure: no node: module, no package, no clock, no randomness, no waiting, no variable", () => {
    const banned: readonly [RegExp, string][] = [
      [/\bDate\.now\b|new Date\(\)|performance\.now/, "reads the clock; take the time as argument"],
      [/Math\.random|crypto\./, "is random; take the number as argument"],
      [/\basync\b|\bawait\b|\bPromise\b/, "waits; the core decides at once"],
      [/setTimeout|setInterval|setImmediate|queueMicrotask/, "sets a timer"],
      [/\bprocess\.|\bconsole\./, "touches the process"],
      [/^(?:export )?let /m, "has a variable of the module; pass it in"],
    ];
    const wrong: string[] = [];
    for (const file of productFiles.filter((path) => path.startsWith(join(src, "core")))) {
      const name = relative(root, file);
      const code = withoutComments(readFileSync(file, "utf8"));
      for (const [pattern, what] of banned) if (pattern.test(code)) wrong.push(`${name} ${what}`);
      for (const { target } of importsOf(file)) {
        if (!target.startsWith(".")) wrong.push(`${name} imports ${target}: the core stands alone`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("no any, no enum, no default export, no console outside the command line", () => {
    const banned: readonly [RegExp, string][] = [
      [/:\s*any\b|\bas any\b|<any>/, "uses any"],
      [/^\s*(?:export\s+)?(?:const\s+)?enum\s/m, "has an enum; use a union"],
      [/^export default/m, "has a default export"],
      [/@ts-ignore|@ts-expect-error|lint-disable(?!.* -- \w)/, "silences a check without a reason"],
    ];
    const wrong: string[] = [];
    for (const file of productFiles.filter((path) => !path.includes("/gen/"))) {
      const text = readFileSync(file, "utf8");
      const code = withoutComments(text);
      for (const [pattern, what] of banned) {
        if (pattern.test(what.startsWith("silences") ? text : code))
          wrong.push(`${relative(root, file)} ${what}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("commands print through their session, which takes control characters out", () => {
    const mayWrite: Readonly<Record<string, string>> = {
      "session.ts": "is where texts are made printable",
      "program.ts": "prints help and failures, which are printable",
      "jobs/run.ts": "copies the output of tasks, byte for byte",
      "jobs/attach/attachment.ts": "copies the output of a terminal, byte for byte",
      "jobs/logs.ts": "copies the output of tasks, byte for byte",
      "jobs/wait.ts": "draws a line of numbers over itself",
      "live/screen.ts": "draws a screen, of texts that it makes printable",
      "service/backup.ts": "draws a line of numbers over itself",
    };
    const writers = productFiles
      .filter((path) => path.startsWith(join(src, "cli")))
      .filter((path) => /\b(?:stdout|stderr)\.write\(/.test(readFileSync(path, "utf8")))
      .map((path) => relative(join(src, "cli"), path));
    expect(writers.filter((name) => mayWrite[name] === undefined)).toEqual([]);
  });

  test("who a caller is, is established in few places", () => {
    const mayName: Readonly<Record<string, string>> = {
      "api/grpc/identify.ts": "knows the address of a connection",
      "api/grpc/calls/call.ts": "knows nobody before that",
      "api/rainbow/operations.ts": "takes credentials out of messages",
      "api/rainbow/satisfy.ts": "answers without credentials, too",
      "api/rainbow/service.ts": "has callers without credentials",
      "api/rainbow/submit.ts": "submits with one token of several",
      "api/goschedule/service.ts": "has a wire without credentials",
      "api/nexus/edges/edge-link.ts": "speaks for edges whose agents speak another wire",
      "api/nexus/gateway/gateway.ts": "answers health checks without tokens",
      "api/nexus/server.ts": "follows all rows for itself; callers are who they are",
      "api/rik/workers/agent-link.ts": "speaks for workers that speak another wire",
      "api/rik/rest/records.ts":
        "reads and writes what the door remembers; callers are who they are",
      "api/rik/controllers/instance-book.ts":
        "follows all rows for itself; callers are who they are",
      "api/rik/workloads/workload-book.ts": "follows all rows for itself; callers are who they are",
      "go-schedule-workers.ts": "speaks for machines, in this process",
      "server/credentials/authenticator.ts": "checks credentials",
      "server/credentials/rainbow-secrets.ts": "is a step of the server's start",
    };
    const makers = /\b(?:LOCAL|SERVER|REGISTRAR|GO_SCHEDULE|ANONYMOUS|narrowTo)\b/;
    const naming = productFiles
      .filter((path) => !path.startsWith(join(src, "core/access")))
      .filter((path) => importsOf(path).some(({ target }) => target.endsWith("/principal.ts")))
      .filter((path) => makers.test(readFileSync(path, "utf8")))
      .map((path) => relative(src, path));
    expect(naming.filter((name) => mayName[name] === undefined)).toEqual([]);
  });

  test("files stay readable, tests too: at most 400 lines; tables of cases become files of their own", () => {
    const long = ["src", "tests", "bench"]
      .flatMap((folder) => sourceFiles(join(root, folder)))
      .filter((path) => !path.includes("/gen/"))
      .map((path) => ({ path, lines: readFileSync(path, "utf8").split("\n").length }))
      .filter(({ lines }) => lines > 400)
      .map(({ path, lines }) => `${relative(root, path)} has ${lines} lines`);
    expect(long).toEqual([]);
  });

  test("folders stay readable: at most 20 files in one level", () => {
    const crowded = [src, ...foldersIn(src)]
      .map((folder) => ({ folder, files: sourceFiles(folder).filter(isIn(folder)).length }))
      .filter(({ files }) => files > 20)
      .map(({ folder, files }) => `${relative(root, folder)} has ${files} files`);
    expect(crowded).toEqual([]);
  });

  test("two exported types never share a name", () => {
    const filesOf = new Map<string, string[]>();
    for (const file of productFiles.filter((path) => !path.includes("/gen/"))) {
      const text = withoutComments(readFileSync(file, "utf8"));
      for (const [, name = ""] of text.matchAll(
        /^export (?:declare |abstract )*(?:type|interface|class) (\w+)/gm,
      )) {
        filesOf.set(name, [...(filesOf.get(name) ?? []), relative(root, file)]);
      }
    }
    const shared = [...filesOf].filter(([, files]) => files.length > 1);
    expect(shared.map(([name, files]) => `${name}: ${files.join(", ")}`)).toEqual([]);
  });

  test("every dependency is justified in docs/dependencies.md", () => {
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      dependencies: Record<string, string>;
      optionalDependencies: Record<string, string>;
      devDependencies: Record<string, string>;
    };
    const text = readFileSync(join(root, "docs/dependencies.md"), "utf8");
    const { dependencies, optionalDependencies, devDependencies } = manifest;
    const names = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies });
    expect(names.filter((name) => !text.includes(`| ${name} |`))).toEqual([]);
  });
});
