// Calls a licd with openapi-fetch, over the types that openapi-typescript makes. `run` sets LICD_URL
// and LICD_KEY.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import createClient from 'openapi-fetch';
import type { components, paths } from './schema';

const headers = { Authorization: `Bearer ${process.env['LICD_KEY']}` };
const licd = createClient<paths>({ baseUrl: process.env['LICD_URL'] ?? '', headers });

/** The body of a success. */
async function done<T>(call: Promise<{ data?: T; error?: unknown }>): Promise<T> {
    const { data, error } = await call;
    return data ?? assert.fail(JSON.stringify(error));
}

async function ask(userId: string): Promise<components['schemas']['Validation']> {
    return (await done(licd.POST('/api/v1/validate', { body: { userId } }))).data;
}

async function main(): Promise<void> {
    const studio = licd.POST('/api/v1/admin/products', { body: { name: 'Studio' } });
    const { id: productId } = (await done(studio)).data;
    const terms = { productId, name: 'Team', maxSeats: 1, features: ['sso'] };
    const plan = (await done(licd.POST('/api/v1/admin/plans', { body: terms }))).data;
    assert.deepEqual([plan.maxSeats, plan.features, plan.expiresInDays], [1, ['sso'], null]);

    const header = { 'Idempotency-Key': randomUUID() };
    const body = { planId: plan.id, expiresInDays: 30 };
    const create = () => done(licd.POST('/api/v1/admin/licenses', { params: { header }, body }));
    const license = (await create()).data;
    assert.deepEqual((await create()).data, license);
    const params = { path: { id: license.id } };
    const changed = await done(licd.PATCH('/api/v1/admin/licenses/{id}', {
        params,
        body: { name: 'Acme', clear: ['expiresAt'] },
    }));
    assert.equal(changed.data.expiresAt, null);
    const shown = await done(licd.GET('/api/v1/admin/licenses/{id}', { params }));
    assert.equal(shown.data.name, 'Acme');

    for (const userId of ['ada', 'grace']) {
        const path = '/api/v1/admin/licenses/{id}/assign';
        await done(licd.POST(path, { params, body: { userId } }));
    }
    const [valid, refusal] = [await ask('ada'), await ask('grace')];
    assert.deepEqual([valid.valid, valid.features, valid.license?.id], [true, ['sso'], license.id]);
    assert.deepEqual([refusal.valid, refusal.reason], [false, 'exceeded_seats']);

    const users = (query: { limit: number; after?: string }) =>
        done(licd.GET('/api/v1/admin/users', { params: { query } }));
    const page = await users({ limit: 1 });
    assert.deepEqual(page.data.map((user) => user.externalId), ['ada']);
    const rest = await users({ limit: 1, after: page.nextCursor ?? assert.fail('the last page') });
    assert.deepEqual([rest.data[0]?.externalId, rest.nextCursor], ['grace', null]);

    const unknown = { planId: 'pln_01h455vb4pex5vsknk084sn02q' };
    const { error, response } = await licd.POST('/api/v1/admin/licenses', { body: unknown });
    const told = [response.status, error?.code, error?.field];
    assert.deepEqual(told, [400, 'invalid_request', 'planId']);
}

main().catch((error: unknown) => {
    console.error(error);
    process.exitCode = 1;
});
