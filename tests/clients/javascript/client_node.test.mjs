// The official JavaScript client (`@kubernetes/client-node`).

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';

import * as k8s from '@kubernetes/client-node';

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const namespace = `clients-${randomUUID().slice(0, 8)}`;

/** A Pod with one container `c`. */
function pod(name, container) {
  return {
    metadata: { name, labels: { app: name } },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'c', image: 'busybox:1.37', ...container }],
    },
  };
}

const script = (name, text) => pod(name, { command: ['sh', '-c', text] });

const netexec = (name) =>
  pod(name, {
    image: 'registry.k8s.io/e2e-test-images/agnhost:2.53',
    args: ['netexec', '--http-port=8080'],
    ports: [{ containerPort: 8080 }],
  });

/** Creates a Pod and waits for a condition of it, with an informer. */
async function created(body, condition) {
  const list = () => core.listNamespacedPod({ namespace });
  const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/pods`, list);
  const found = new Promise((resolve, reject) => {
    const look = (p) => p.metadata.name === body.metadata.name && condition(p) && resolve(p);
    informer.on('add', look);
    informer.on('update', look);
    informer.on('error', reject);
  });
  await informer.start();
  await core.createNamespacedPod({ namespace, body });
  const result = await found;
  await informer.stop();
  return result;
}

const ready = (p) => p.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True');

before(() => core.createNamespace({ body: { metadata: { name: namespace } } }));
after(() => core.deleteNamespace({ name: namespace }));

test('an informer follows a pod to its end', { timeout: 60_000 }, async () => {
  await created(script('p', 'echo hello; sleep 1'), (p) => p.status?.phase === 'Succeeded');
  const out = new PassThrough();
  const log = text(out);
  await new k8s.Log(config).log(namespace, 'p', 'c', out, { follow: false });
  assert.equal(await log, 'hello\n');
});

test('a watch starts at a resource version', { timeout: 60_000 }, async () => {
  const { metadata } = await core.listNamespacedConfigMap({ namespace });
  const body = { metadata: { name: 'watched' } };
  await core.createNamespacedConfigMap({ namespace, body });
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const event = await new Promise((resolve, reject) => {
    const query = { resourceVersion: metadata.resourceVersion };
    const done = (error) => error && error.name !== 'AbortError' && reject(error);
    const watching = new k8s.Watch(config).watch(
      path,
      query,
      async (phase, object) => {
        (await watching).abort();
        resolve([phase, object.metadata.name]);
      },
      done,
    );
  });
  assert.deepEqual(event, ['ADDED', 'watched']);
});

test('server-side apply merges the fields of two managers', async () => {
  const objects = k8s.KubernetesObjectApi.makeApiClient(config);
  const apply = (manager, data) =>
    objects.patch(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied', namespace }, data },
      undefined,
      undefined,
      manager,
      false,
      k8s.PatchStrategy.ServerSideApply,
    );
  await apply('one', { a: '1' });
  const applied = await apply('two', { b: '2' });
  assert.deepEqual(applied.data, { a: '1', b: '2' });
});

test('an error carries its Status', async () => {
  await assert.rejects(core.readNamespacedPod({ name: 'none', namespace }), (error) => {
    assert.equal(error.code, 404);
    assert.equal(JSON.parse(error.body).message, 'pods "none" not found');
    return true;
  });
});

test('exec returns output and exit code', { timeout: 60_000 }, async () => {
  await created(script('execs', 'sleep 600'), ready);
  const [out, err] = [new PassThrough(), new PassThrough()];
  const [stdout, stderr] = [text(out), text(err)];
  const command = ['sh', '-c', 'echo out; echo err >&2; exit 3'];
  const status = await new Promise((resolve, reject) => {
    new k8s.Exec(config)
      .exec(namespace, 'execs', 'c', command, out, err, null, false, resolve)
      .catch(reject);
  });
  out.end();
  err.end();
  assert.deepEqual([await stdout, await stderr], ['out\n', 'err\n']);
  assert.equal(status.reason, 'NonZeroExitCode');
  assert.deepEqual(status.details.causes, [{ reason: 'ExitCode', message: '3' }]);
});

test('files are copied to a pod', { timeout: 60_000 }, async () => {
  await created(script('copies', 'sleep 600'), ready);
  const source = await mkdtemp(join(tmpdir(), 'clients-'));
  await writeFile(join(source, 'file'), 'content');
  await new k8s.Cp(config).cpToPod(namespace, 'copies', 'c', source, '/tmp');
  // The client does not wait until the files are there.
  const command = ['sh', '-c', 'until cat /tmp/file 2>/dev/null; do sleep 0.1; done'];
  const out = new PassThrough();
  const stdout = text(out);
  await new Promise((resolve, reject) => {
    new k8s.Exec(config)
      .exec(namespace, 'copies', 'c', command, out, null, null, false, resolve)
      .catch(reject);
  });
  out.end();
  assert.equal(await stdout, 'content');
  await rm(source, { recursive: true });
});

test('the output of a container is attached to', { timeout: 60_000 }, async () => {
  await created(script('ticks', 'while true; do echo tick; sleep 1; done'), ready);
  const out = new PassThrough();
  const first = new Promise((resolve) => out.once('data', resolve));
  const connection = await new k8s.Attach(config).attach(namespace, 'ticks', 'c', out, null, null, false);
  assert.equal(String(await first), 'tick\n');
  connection.close();
});

test('a port is forwarded', { timeout: 60_000 }, async () => {
  await created(netexec('server'), ready);
  const forward = new k8s.PortForward(config);
  const server = net.createServer((socket) => {
    forward.portForward(namespace, 'server', [8080], socket, null, socket);
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const response = await fetch(`http://127.0.0.1:${server.address().port}/hostname`, {
    headers: { connection: 'close' },
  });
  assert.equal(await response.text(), 'server');
  server.close();
});
