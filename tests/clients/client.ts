// Creates, changes and deletes a workload with the client that openapi-typescript generates. Argument: URL of the daemon.
import createClient from "openapi-fetch";
import assert from "node:assert";
import type { paths } from "./nrd.js";

const client = createClient<paths>({ baseUrl: process.argv[2], headers: { Accept: "application/json" } });
const made = await client.POST("/v1/workloads", { body: { core_ids: ["4-7"], cache: { max: 3, min: 3 }, uuid: "typescript" } });
assert.equal(made.response.status, 201);
assert(made.data && "id" in made.data);
const id: string = made.data.id;
const path = { params: { path: { id } } };
const changed = await client.PATCH("/v1/workloads/{id}", { ...path, body: { cache: { max: 2, min: 2 } } });
assert(changed.data && typeof changed.data === "object" && "granted_ways" in changed.data);
assert.equal(changed.data.granted_ways["0"].ways, 2);
const shown = await client.GET("/v1/workloads/{id}", path);
assert.equal(shown.data?.uuid, "typescript");
const refused = await client.POST("/v1/workloads", { body: { core_ids: ["4"], cache: { max: 1, min: 1 } } });
assert.equal(refused.response.status, 400);
assert(refused.error && typeof refused.error === "object" && refused.error.code === "CpuTaken");
assert.equal((await client.DELETE("/v1/workloads/{id}", { ...path, parseAs: "text" })).response.status, 200);
assert.deepEqual((await client.GET("/v1/workloads")).data, []);
