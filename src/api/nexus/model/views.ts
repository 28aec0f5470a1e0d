import type { JobView, NodeView, TaskView } from "../../../server/views/views.ts";

/** Jobs, some of which are split by energy; their tasks, which are shares; nodes, some with power. */
export type EnergyJobView = JobView;
export type ShareTaskView = TaskView;
export type PowerNodeView = NodeView;
