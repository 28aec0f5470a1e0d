/** What the command line reads files by. */
export { JobSpecSchema } from "../gen/busbar/v1/busbar_pb.ts";
export { docs } from "../gen/busbar/v1/docs.ts";
