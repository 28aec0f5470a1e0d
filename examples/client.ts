// A program that submits a job, waits for its end and prints its output:
//   npm install ./busbar-*.tgz && node client.ts     (Node 24 or newer runs TypeScript as it is)
import { AppError, connect, isEnded, type Job, stateName } from "busbar";

const client = connect(); // $BUSBAR_SERVER, or 127.0.0.1:7071
try {
  const submitted = await client.submitJobs({
    jobs: [{ spec: { name: "greeting", command: ["sh", "-c", "echo hello from $BUSBAR_NODE"] } }],
  });
  const [{ id } = { id: "" }] = submitted.jobs;
  const ended = await endOf(id, submitted.revision);
  process.stdout.write(`job ${id} ${stateName(ended.state)}\n`);
  for await (const { data } of client.readOutput({ taskId: id })) process.stdout.write(data);
} catch (error) {
  if (!(error instanceof AppError)) throw error;
  process.stderr.write(`${error.code}: ${error.message}\n`);
  process.exitCode = 1;
} finally {
  client.close();
}

/** The job as it was when it ended. A watch from the revision of the answer misses nothing. */
async function endOf(jobId: string, afterRevision: bigint): Promise<Job> {
  for await (const { event } of client.watch({ jobId, jobs: true, afterRevision })) {
    if (event.case === "job" && isEnded(event.value.state)) return event.value;
  }
  throw new Error("the watch ended before the job did");
}
