/** One document of each dialect that uses most features of the dialect. */

export const FLUX_V1 = `
version: 1
resources:
- type: node
  count: 2
  with:
  - type: slot
    count: 3
    label: solver
    with:
    - {type: core, count: 4}
    - {type: gpu, count: 1}
tasks:
- command: [solve, --mesh, "fine grid"]
  slot: solver
  count: {per_slot: 1}
attributes:
  system:
    duration: 90.5
    cwd: /data
    environment: {MODE: 0644, EMPTY: ""}
    job: {name: mesh}
    queue: night
`;

export const EXPERIMENTAL = `
version: 1
resources:
- type: slot
  count: 2
  label: render
  with:
  - {type: core, count: 2}
task:
  slot: render
  count: {total: 3}
  resources:
    io:
      storage:
      - {priority: 2, storage: disk}
      - {priority: 1, storage: shm}
    os: {os.release: 22.10}
  scripts:
  - name: frame.sh
    content: |
      #!/bin/sh
      echo "it's frame $1"
  - name: notes.txt
    content: plain
  transform:
  - {step: set, key: sharedfs, value: false}
  - {step: write, filename: frame.sh, executable: true}
  - {step: stage, filename: frame.sh}
  - {step: submit, filename: frame.sh, watch: true}
  - {step: unset, key: sharedfs}
  - {step: batch, filename: notes.txt}
attributes:
  parameter: {frames: 7}
`;

export const DRAFT_2 = `
version: 1
requires:
  io.archspec:
    cpu.target: arm64
  hardware.gpu.available: "no"
groups:
- name: build
  attributes: {environment: {CC: clang, LEVEL: 2}}
  tasks:
  - name: compile
    command: make -j4 'all of it'
    resources: {type: node, count: 1, with: {type: core, count: 4}}
  - command: [make, check]
    depends_on: [compile]
    requires: {hardware.gpu.available: "yes"}
    attributes: {environment: {LEVEL: 3}}
    resources: {type: core, count: 1}
`;

export const NEXTGEN = `
version: 1
name: nightly
attributes: {duration: 4h}
requires:
  spack:
  - {name: spack, field: version, min: "0.5.1", max: "0.6"}
  python:
  - {name: spack, field: type, match: package, attribute: name, value: [python, pypy]}
resources:
  pool:
    type: node
    count: 4
    schedule: true
    attributes: {cwd: /scratch}
    with:
    - {type: core, count: 8}
    - {type: gpu, count: 2, requires: [{name: gpu, field: vendor, value: acme}]}
    - {type: memory, count: 32, unit: GiB}
  one-gpu: {type: node, count: 1, with: [{type: gpu, count: 1}]}
  four_cores: {type: node, replicas: 1, with: [{type: cores, count: 4}]}
groups:
- name: train
  resources: pool
  requires: spack
  depends_on: [fetch]
  attributes: {duration: 2h, environment: {SEED: 1}}
  tasks:
  - {name: prepare, local: true, command: "mkdir -p out"}
  - name: fit
    depends_on: [prepare]
    replicas: 3
    resources: one-gpu|four_cores
    requires: python
    attributes: {duration: 30m, environment: {SEED: 2, N: n}}
    command: |
      #!/usr/bin/env python3
      print("fit")
  - group: score
    depends_on: [fit]
- name: score
  tasks:
  - {command: [score, all]}
tasks:
- name: fetch
  resources: four_cores
  command: [fetch, --to, /scratch]
- name: report
  depends_on: [train]
  resources: four_cores
  script: echo done
`;

/** The first task builds the software that the second uses. */
export const SPACK_IOR = `
version: 1
resources:
  spack-resources: {type: node, count: 1, with: [{type: core, count: 10}]}
tasks:
- name: build
  resources: spack-resources
  command: [spack, install, ior]
- name: ior
  resources: spack-resources
  depends_on: [build]
  command:
  - bash
  - -c
  - |
    spack load ior
    ior -b 10g -O summaryFormat=json
`;

/** One document in each dialect. */
export const DIALECTS = [
  ["flux V1", FLUX_V1],
  ["experimental", EXPERIMENTAL],
  ["draft 2", DRAFT_2],
  ["nextgen", NEXTGEN],
] as const;
