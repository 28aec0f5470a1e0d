import { expect, test } from "vitest";
import { unitText } from "./unit-text.ts";

const commandOf = (program: string, ...flags: string[]): string | undefined =>
  /^ExecStart=(.*)$/m.exec(unitText("server", { program, user: undefined, flags }))?.[1];

test("a unit quotes the program as systemd reads it, and rejects names that systemd rejects", () => {
  const own = "server --data /var/lib/busbar";
  expect(commandOf("/opt/busbar")).toBe(`/opt/busbar ${own}`);
  expect(commandOf("/opt/ü b 5%/busbar")).toBe(`"/opt/ü b 5%%/busbar" ${own}`);
  for (const name of ["$x", "it's", 'a"b', "a\\b"]) {
    expect(() => commandOf(`/opt/${name}/busbar`)).toThrow("systemd cannot start /opt/");
  }
});

test("the data of the service is where systemd lets it write", () => {
  expect(commandOf("/b", "--data", "/var/lib/busbar/two")).toBe(
    "/b server --data /var/lib/busbar/two",
  );
  expect(() => commandOf("/b", "--data=/var/lib/busbar2")).toThrow("leave the flag out");
  expect(() => commandOf("/b", "--data", "/srv/data")).toThrow("cannot write to /srv/data");
  const agent = { program: "/b", user: "sim", flags: ["--data", "/srv/data"] };
  expect(unitText("agent", agent)).toContain(
    "/b agent --cgroup /sys/fs/cgroup/busbar.slice/tasks --data /srv/data",
  );
});
