// The generated TypeScript client talks to licd through every operation. `run` compiles this with
// the client, starts licd, and sets LICD_URL and LICD_KEY, and LIMITED_LICD_… for one that accepts
// a single request.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import * as licd from './index';

const DOCUMENT = 'docs/openapi.json';
const called = new Set<string>();

function environment(name: string): string {
    const value = process.env[name];
    assert.ok(value, `${name} is not set`);
    return value;
}

/** A class of the client, which notes the operations that are called. */
function recorded<T extends object>(api: T): T {
    return new Proxy(api, {
        get(target, name, receiver) {
            called.add(String(name).replace(/Raw$/, ''));
            return Reflect.get(target, name, receiver);
        },
    });
}

function connect(basePath: string, accessToken?: string) {
    const configuration = new licd.Configuration({ basePath, accessToken });
    return {
        validation: recorded(new licd.ValidationApi(configuration)),
        products: recorded(new licd.ProductsApi(configuration)),
        plans: recorded(new licd.PlansApi(configuration)),
        licenses: recorded(new licd.LicensesApi(configuration)),
        users: recorded(new licd.UsersApi(configuration)),
        licenseKeys: recorded(new licd.LicenseKeysApi(configuration)),
        keys: recorded(new licd.KeysApi(configuration)),
        signingKeys: recorded(new licd.SigningKeysApi(configuration)),
        webhooks: recorded(new licd.WebhooksApi(configuration)),
        events: recorded(new licd.EventsApi(configuration)),
        refusals: recorded(new licd.RefusalsApi(configuration)),
        statistics: recorded(new licd.StatisticsApi(configuration)),
        health: recorded(new licd.HealthApi(configuration)),
    };
}

const url = environment('LICD_URL');
const api = connect(url, environment('LICD_KEY'));

async function newProduct(): Promise<licd.Product> {
    return (await api.products.createProduct({ createProduct: { name: 'Studio' } })).data;
}

async function newPlan(terms: Partial<licd.CreatePlan>): Promise<licd.Plan> {
    const { id } = await newProduct();
    const createPlan = { productId: id, name: 'Team', ...terms };
    return (await api.plans.createPlan({ createPlan })).data;
}

async function newLicense(terms: Partial<licd.CreatePlan>): Promise<licd.License> {
    const { id } = await newPlan(terms);
    return (await api.licenses.createLicense({ createLicense: { planId: id } })).data;
}

async function assign(license: licd.License, userId: string): Promise<licd.Assignment> {
    const request = { id: license.id, assignLicense: { userId } };
    return (await api.licenses.assignLicense(request)).data;
}

async function validate(userId: string, productId?: string): Promise<licd.Validation> {
    return (await api.validation.validate({ validate: { userId, productId } })).data;
}

/** The failure that a call is answered, and its response. */
async function refused(status: number, call: Promise<unknown>): Promise<[licd.Failure, Response]> {
    const error = await call.then(() => assert.fail('not refused'), (error: unknown) => error);
    assert.ok(error instanceof licd.ResponseError);
    assert.equal(error.response.status, status);
    const failure = licd.FailureFromJSON(await error.response.json());
    assert.equal(failure.success, false);
    assert.equal(failure.requestId, error.response.headers.get('X-Request-Id'));
    return [failure, error.response];
}

/** Waits for what licd writes some seconds late. */
async function find<T>(look: () => Promise<T[]>): Promise<T[]> {
    const end = Date.now() + 60_000;
    for (;;) {
        const found = await look();
        if (found.length > 0) return found;
        assert.ok(Date.now() < end, 'in vain');
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

test('health', async () => {
    const { health } = connect(url);
    assert.equal((await health.getHealth()).data.status, 'ok');
    assert.equal((await health.getReadiness()).data.status, 'ok');
});

test('products', async () => {
    const product = await newProduct();
    assert.deepEqual([product.name, product.description], ['Studio', null]);
    assert.ok(product.createdAt instanceof Date);
    const id = product.id;
    const updateProduct = { name: 'Studio 2', description: 'For teams' };
    const changed = (await api.products.updateProduct({ id, updateProduct })).data;
    assert.deepEqual([changed.name, changed.description], ['Studio 2', 'For teams']);
    const clear = [licd.UpdateProductClearEnum.Description];
    const cleared = (await api.products.updateProduct({ id, updateProduct: { clear } })).data;
    assert.equal(cleared.description, null);
    assert.deepEqual((await api.products.getProduct({ id })).data, cleared);
    assert.deepEqual((await api.products.deleteProduct({ id })).data, cleared);
});

test('pages', async () => {
    const ids = [(await newProduct()).id, (await newProduct()).id, (await newProduct()).id];
    const whole: licd.ProductList = await api.products.listProducts({});
    assert.deepEqual([whole.success, whole.nextCursor], [true, null]);
    assert.deepEqual(whole.data.slice(-3).map((product) => product.id), ids);
    const after = whole.data.at(-4)?.id;
    const page = await api.products.listProducts({ limit: 2, after });
    assert.deepEqual(page.data.map((product) => product.id), ids.slice(0, 2));
    assert.ok(page.nextCursor !== null);
    const last = await api.products.listProducts({ after: page.nextCursor });
    assert.deepEqual(last.data.map((product) => product.id), ids.slice(2));
});

test('plans', async () => {
    const plan = await newPlan({ maxSeats: 5, expiresInDays: 365, features: ['sso', 'export'] });
    assert.deepEqual([plan.maxSeats, plan.expiresInDays], [5, 365]);
    assert.deepEqual(plan.features, ['sso', 'export']);
    const updatePlan = { features: [], clear: [licd.UpdatePlanClearEnum.MaxSeats] };
    const changed = (await api.plans.updatePlan({ id: plan.id, updatePlan })).data;
    assert.deepEqual([changed.maxSeats, changed.expiresInDays, changed.features], [null, 365, []]);
    assert.deepEqual((await api.plans.getPlan({ id: plan.id })).data, changed);
    assert.deepEqual((await api.plans.listPlans({ productId: plan.productId })).data, [changed]);
    assert.deepEqual((await api.plans.deletePlan({ id: plan.id })).data, changed);
});

test('licenses', async () => {
    const plan = await newPlan({ maxSeats: 2 });
    const notes = { name: 'Acme Ltd', metadata: { order: 7 } };
    const createLicense = { planId: plan.id, expiresInDays: 30, ...notes };
    const license: licd.License = (await api.licenses.createLicense({ createLicense })).data;
    const { id, expiresAt } = license;
    assert.deepEqual([license.status, license.maxSeats], [licd.Status.Active, 2]);
    assert.ok(expiresAt !== null);
    assert.equal(expiresAt.getTime() - license.createdAt.getTime(), 30 * 24 * 3600 * 1000);
    const withSeats: licd.LicenseWithSeats = (await api.licenses.getLicense({ id })).data;
    const noted = { ...license, name: 'Acme Ltd', metadata: { order: 7 } };
    const seats = { used: 0, allowed: 2 };
    assert.deepEqual(withSeats, { ...noted, seats, terms: undefined });
    const listed: licd.LicenseList = await api.licenses.listLicenses({
        planId: plan.id,
        status: licd.Status.Active,
        endsBefore: new Date(expiresAt.getTime() + 1),
    });
    assert.deepEqual(listed.data, [withSeats]);
    const totals = (await api.licenses.getLicenseTotals({ planId: plan.id })).data;
    assert.deepEqual([totals.licenses, totals.held, totals.complete], [1, 0, true]);
    const renewed = (await api.licenses.renewLicense({ id, renewLicense: { for: '1y' } })).data;
    assert.ok(renewed.expiresAt && renewed.expiresAt > expiresAt);
    const clear = [licd.UpdateLicenseClearEnum.ExpiresAt, licd.UpdateLicenseClearEnum.MaxSeats];
    const changed = (await api.licenses.updateLicense({ id, updateLicense: { clear } })).data;
    assert.deepEqual([changed.expiresAt, changed.maxSeats], [null, null]);
    const setStatus = { status: licd.Status.Suspended };
    const suspended = (await api.licenses.setLicenseStatus({ id, setStatus })).data;
    assert.equal(suspended.status, 'suspended');
    assert.deepEqual((await api.licenses.deleteLicense({ id })).data, suspended);
});

test('users', async () => {
    const createUser = {
        externalId: 'grace',
        email: 'grace@example.com',
        metadata: { team: { n: 1 } },
    };
    const created = await api.users.createUserRaw({ createUser });
    assert.equal(created.raw.status, 201);
    assert.deepEqual((await created.value()).data.metadata, { team: { n: 1 } });
    const name = { externalId: 'grace', name: 'Grace' };
    const known = await api.users.createUserRaw({ createUser: name });
    const user: licd.User = (await known.value()).data;
    assert.equal(known.raw.status, 200);
    assert.deepEqual([user.email, user.name], ['grace@example.com', 'Grace']);
    const { id } = user;
    const clear = [licd.UpdateUserClearEnum.Metadata, licd.UpdateUserClearEnum.Email];
    const changed = (await api.users.updateUser({ id, updateUser: { clear } })).data;
    assert.deepEqual([changed.metadata, changed.email], [null, null]);
    assert.deepEqual((await api.users.getUser({ id })).data, changed);
    assert.deepEqual((await api.users.listUsers({ externalId: 'grace' })).data, [changed]);
    const forgetUser = { externalId: true };
    const forgotten: licd.ForgottenUser = (await api.users.forgetUser({ id, forgetUser })).data;
    assert.match(forgotten.externalId, /^forgotten-/);
    assert.ok(forgotten.remaining.some((it) => it.type === 'backup'));
    const gone = (await api.users.deleteUser({ id })).data;
    assert.deepEqual([gone.externalId, gone.name], [forgotten.externalId, null]);
    assert.deepEqual((await api.users.listUsers({ search: 'grace' })).data, []);
});

test('a valid user', async () => {
    const license = await newLicense({ maxSeats: 1, features: ['sso', 'export'] });
    const { id } = license;
    const assignLicense = { userId: 'ada', metadata: { by: 'test' } };
    const first = await api.licenses.assignLicenseRaw({ id, assignLicense });
    const again = await api.licenses.assignLicenseRaw({ id, assignLicense: { userId: 'ada' } });
    assert.deepEqual([first.raw.status, again.raw.status], [201, 200]);
    assert.deepEqual((await again.value()).data.metadata, { by: 'test' });

    const answer = await validate('ada', license.productId);
    assert.ok(answer.valid && answer.activation);
    assert.deepEqual(answer.features, ['sso', 'export']);
    assert.deepEqual(answer.license, license);
    assert.equal(answer.activation.licenseId, id);
    assert.ok(answer.activation.lastCheckedAt instanceof Date);

    const usage: licd.UsagePage = await api.licenses.getLicenseUsage({ id, limit: 1 });
    assert.deepEqual([usage.data.totalActivations, usage.data.activeSeats], [1, 1]);
    assert.deepEqual(usage.data.activations.map((seat) => seat.externalId), ['ada']);

    const [assigned] = (await api.licenses.listAssignments({ id, limit: 1 })).data;
    assert.deepEqual([assigned?.externalId, assigned?.metadata], ['ada', { by: 'test' }]);
    assert.deepEqual(assigned?.activation, answer.activation);

    const explanation = (await api.validation.explain({ explain: { userId: 'ada' } })).data;
    assert.deepEqual([explanation.valid, explanation.reason], [true, null]);
    assert.equal(explanation.user?.externalId, 'ada');
    const explained = explanation.licenses.find((it) => it.license.id === id);
    assert.deepEqual([explained?.verdict, explained?.seatsUsed], ['valid', 1]);
    assert.equal(explained?.activation?.id, answer.activation.id);

    await assign(license, 'joan');
    const refusal = await validate('joan');
    assert.deepEqual([refusal.valid, refusal.reason], [false, 'exceeded_seats']);
});

test('an invalid user', async () => {
    const answer = await api.validation.validate({ validate: { userId: 'nobody' } });
    assert.equal(answer.success, true);
    const refusal = answer.data;
    assert.deepEqual([refusal.valid, refusal.reason], [false, 'no_license']);
    const unknown = (await api.validation.explain({ explain: { userId: 'unknown' } })).data;
    assert.deepEqual([unknown.reason, unknown.user], ['user_not_found', null]);
    assert.deepEqual(unknown.licenses, []);
});

for (const userId of ['a/b c?ü', '%2F', 'a+b']) {
    test(`unassigning ${userId} by path`, async () => {
        const license = await newLicense({});
        const assignment = await assign(license, userId);
        const gone = (await api.licenses.unassignLicense({ id: license.id, userId })).data;
        assert.equal(gone.id, assignment.id);
        assert.equal((await validate(userId)).reason, 'no_license');
    });
}

test('unassigning by query', async () => {
    const license = await newLicense({});
    const assignment = await assign(license, '..');
    const request = { id: license.id, userId: '..' };
    const gone = (await api.licenses.unassignLicenseByQuery(request)).data;
    assert.equal(gone.id, assignment.id);
});

test('floating seats', async () => {
    const { id } = await newLicense({ maxSeats: 1, seatIdleMinutes: 60 });
    const assignLicense = { userId: 'nils' };
    await api.licenses.assignLicense({ id, assignLicense });
    const answer = (await api.validation.validate({ validate: { userId: 'nils' } })).data;
    assert.deepEqual([answer.valid, answer.checkAfterSeconds], [true, 1200]);
    const checkedAt = answer.activation?.lastCheckedAt;
    const given = (await api.validation.release({ release: { userId: 'nils', checkedAt } })).data;
    assert.deepEqual(given.released, [{ licenseId: id }]);
    const releaseSeat = { userId: 'nils' };
    const none = (await api.licenses.releaseSeat({ id, releaseSeat })).data;
    assert.deepEqual(none.released, []);
    const transferLicense = { fromUserId: 'nils', toUserId: 'olga' };
    const handed = (await api.licenses.transferLicense({ id, transferLicense })).data;
    assert.deepEqual([handed.externalId, handed.activation], ['olga', null]);
    const { terms } = (await api.licenses.getLicense({ id })).data;
    assert.deepEqual([terms?.seatIdleMinutes, terms?.graceDays], [60, null]);
});

test('license keys', async () => {
    const license = await newLicense({ maxSeats: 2 });
    const { id } = license;
    const createLicenseKey = { maxUses: 1 };
    const created: licd.CreatedLicenseKey =
        (await api.licenseKeys.createLicenseKey({ id, createLicenseKey })).data;
    assert.deepEqual([created.licenseId, created.uses], [id, 0]);
    const key = created.key.toLowerCase();
    const answer = (await api.validation.claim({ claim: { userId: 'mary', key } })).data;
    assert.deepEqual([answer.valid, answer.license?.id], [true, id]);
    const [failure] = await refused(409, api.validation.claim({ claim: { userId: 'ruth', key } }));
    assert.equal(failure.code, 'license_key_used_up');
    const [listed] = (await api.licenseKeys.listLicenseKeys({ id })).data;
    assert.deepEqual([listed?.id, listed?.uses], [created.id, 1]);
    const search = created.suffix ?? '';
    const found = (await api.licenseKeys.searchLicenseKeys({ search })).data;
    assert.ok(found.some((key) => key.id === created.id));
    const findLicenseKey = { key: created.key };
    const record = (await api.licenseKeys.findLicenseKey({ findLicenseKey })).data;
    assert.deepEqual(record, listed);
    const reissued = (await api.licenseKeys.reissueLicenseKey({ id: created.id })).data;
    assert.notEqual(reissued.key, created.key);
    const revoked = (await api.licenseKeys.revokeLicenseKey({ id: created.id })).data;
    assert.ok(revoked.revokedAt instanceof Date);
});

test('signing keys', async () => {
    const made = (await api.signingKeys.createSigningKeys()).data;
    const listed: licd.SigningKey[] = (await api.signingKeys.listSigningKeys()).data;
    assert.deepEqual(listed, [made.active, made.standby]);
    const rotateSigningKeys = { standby: made.standby.id };
    const rotated = (await api.signingKeys.rotateSigningKeys({ rotateSigningKeys })).data;
    assert.equal(rotated.active.jwk.kid, made.standby.jwk.kid);
    const deleted = (await api.signingKeys.deleteSigningKey({ id: made.active.id })).data;
    assert.deepEqual([deleted.state, deleted.retiredAt instanceof Date], ['retired', true]);
});

test('leases', async () => {
    const license = await newLicense({ maxLeaseSeconds: 600 });
    const { id, productId } = license;
    await assign(license, 'vera');
    const requestLease = { userId: 'vera', productId, device: 'desk' };
    const answer: licd.LeaseAnswer = (await api.validation.issueLease({ requestLease })).data;
    assert.deepEqual([answer.valid, answer.leaseReason], [true, undefined]);
    const { issuedAt, expiresAt } = answer.lease!;
    assert.equal(expiresAt.getTime() - issuedAt.getTime(), 600_000);
    const [running] = (await api.validation.listLeases({ licenseId: id })).data;
    assert.deepEqual([running?.externalId, running?.device], ['vera', 'desk']);
    const unassign = { id, userId: 'vera' };
    const [failure] = await refused(409, api.licenses.unassignLicense(unassign));
    assert.equal(failure.code, 'lease_running');
    const gone = await api.licenses.unassignLicense({ ...unassign, leases: 'drop' });
    assert.equal(gone.data.licenseId, id);
});

test('webhooks', async () => {
    // No receiver listens there.
    const createWebhook = { url: 'http://127.0.0.1:9/', types: ['product.*'] };
    const created: licd.CreatedWebhook =
        (await api.webhooks.createWebhook({ createWebhook })).data;
    const { id } = created;
    const all = (await api.webhooks.listWebhooks()).data;
    assert.ok(all.some((webhook) => webhook.id === id));
    const sent = (await api.webhooks.testWebhook({ id })).data;
    assert.deepEqual([sent.delivered, sent.error, sent.status], [false, 'connect', null]);
    await newProduct();
    const events = await api.events.listEvents({ type: 'product.created', order: 'newest' });
    const [event] = events.data;
    assert.ok(event);
    const resendEvent = { event: event.id };
    assert.equal((await api.webhooks.resendEvent({ id, resendEvent })).data.event, event.id);
    const updateWebhook = { enabled: false, description: 'Shop' };
    const updated = (await api.webhooks.updateWebhook({ id, updateWebhook })).data;
    assert.deepEqual([updated.state, updated.disabledReason], ['disabled', 'by_hand']);
    const replayWebhook = { after: event.sequence - 1 };
    const replayed = (await api.webhooks.replayWebhook({ id, replayWebhook })).data;
    assert.equal(replayed.sequence, event.sequence - 1);
    assert.equal((await api.webhooks.retryWebhook({ id })).data.subjects, 0);
    const rollKey = { overlapSeconds: 60 };
    const rolled = (await api.webhooks.rollWebhook({ id, rollKey })).data;
    assert.ok(rolled.oldSecretUntil instanceof Date && rolled.secret !== created.secret);
    assert.equal((await api.webhooks.getWebhook({ id })).data.description, 'Shop');
    const failures = (await api.webhooks.listWebhookFailures({ id })).data;
    assert.ok(failures.every((failure) => failure.at instanceof Date));
    assert.equal((await api.webhooks.deleteWebhook({ id })).data.id, id);
});

test('signatures of webhooks, which the library of Standard Webhooks takes', async () => {
    const received: [Record<string, string>, string][] = [];
    const receiver = createServer(async (request, response) => {
        const parts: Buffer[] = [];
        for await (const part of request) parts.push(part);
        const headers = request.headers as Record<string, string>;
        received.push([headers, Buffer.concat(parts).toString()]);
        response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const { port } = receiver.address() as AddressInfo;
    // Of these types nothing happens here: each roll of the secret is an event too, and would arrive.
    const createWebhook = { url: `http://127.0.0.1:${port}/`, types: ['product.*'] };
    const { id, secret } = (await api.webhooks.createWebhook({ createWebhook })).data;
    const secrets = [secret];
    while (secrets.length < 4) {
        secrets.push((await api.webhooks.rollWebhook({ id, rollKey: {} })).data.secret);
    }
    assert.ok((await api.webhooks.testWebhook({ id })).data.delivered);
    receiver.close();
    assert.equal(received.length, 1);
    const [[headers, body]] = received as [[Record<string, string>, string]];
    for (const secret of secrets) {
        const event = new Webhook(secret).verify(body, headers) as { type: string };
        assert.equal(event.type, 'webhook.test');
        assert.throws(() => new Webhook(secret).verify(body.replace('test', 'tset'), headers));
    }
    assert.throws(() => new Webhook(`whsec_${'A'.repeat(32)}`).verify(body, headers));
    await api.webhooks.deleteWebhook({ id });
});

test('keys', async () => {
    const current: licd.CurrentKey = (await api.keys.getCurrentKey()).data;
    assert.deepEqual([current.role, current.mode], [licd.Role.Admin, licd.Mode.Live]);
    assert.deepEqual([current.expiresAt, current.tenant.name], [null, 'default']);
    const expiresAt = new Date(Date.now() + 24 * 3600 * 1000);
    const createKey = { name: 'CI', role: licd.Role.Read, mode: licd.Mode.Test, expiresAt };
    const created: licd.CreatedKey = (await api.keys.createKey({ createKey })).data;
    assert.ok(created.key.startsWith('sk_test_') && created.key.startsWith(created.prefix));
    assert.deepEqual([created.expiresAt, created.lastUsedAt], [expiresAt, null]);
    const reader = connect(url, created.key);
    const createProduct = { name: 'x' };
    const [forbidden] = await refused(403, reader.products.createProduct({ createProduct }));
    assert.equal(forbidden.code, 'forbidden');
    const ids = (await api.keys.listKeys({})).data.map((key) => key.id);
    assert.ok(ids.includes(created.id));
    const rollKey = { overlapSeconds: 3600 };
    const rolled: licd.CreatedKey = (await api.keys.rollKey({ id: created.id, rollKey })).data;
    assert.notEqual(rolled.key, created.key);
    assert.deepEqual([rolled.name, rolled.expiresAt], ['CI', expiresAt]);
    const old = (await reader.keys.getCurrentKey()).data;
    assert.equal(Number(old.expiresAt), Number(rolled.createdAt) + 3600 * 1000);
    const revoked: licd.Key = (await api.keys.revokeKey({ id: created.id })).data;
    assert.ok(revoked.revokedAt instanceof Date);
    const [unauthorized] = await refused(401, reader.keys.getCurrentKey());
    assert.equal(unauthorized.code, 'unauthorized');
});

test('events', async () => {
    const { id } = await newLicense({ maxSeats: 3 });
    await api.licenses.setLicenseStatus({ id, setStatus: { status: licd.Status.Revoked } });
    const events: licd.EventList = await api.events.listEvents({ subject: id });
    const [created, changed] = events.data;
    assert.ok(created && changed && events.data.length === 2);
    assert.deepEqual([created.type, created.data.previous], ['license.created', null]);
    assert.equal(created.data.object['maxSeats'], 3);
    assert.equal(changed.type, 'license.status_changed');
    assert.equal(changed.data.previous?.['status'], 'active');
    assert.deepEqual([changed.actor.type, changed.subject.type], ['key', 'license']);
    assert.deepEqual([changed.related.licenseId, changed.related.userId], [id, null]);
    const later = await api.events.listEvents({ after: created.sequence, limit: 1 });
    assert.deepEqual(later.data, [changed]);
});

test('refusals and statistics', async () => {
    await validate('mallory');
    const look = async () => (await api.refusals.listRefusals({ userId: 'mallory' })).data;
    const [refusal] = await find(look);
    assert.ok(refusal);
    assert.deepEqual([refusal.reason, refusal.count, refusal.licenseId], ['no_license', 1, null]);
    const period = { from: refusal.hour, to: refusal.lastAt };
    const { hours } = (await api.statistics.getStatistics(period)).data;
    assert.deepEqual(hours.map((hour) => hour.hour), [refusal.hour]);
    assert.ok(hours.every((hour) => hour.noLicense >= 1 && hour.total >= hour.noLicense));
    assert.equal((await api.statistics.getStatistics({})).data.hours.length, 24);
    const { plans } = (await api.statistics.getPlanStatistics({ trial: false })).data;
    assert.ok(Array.isArray(plans));
    const { months } = (await api.statistics.getMonthStatistics({ from: '2026-01' })).data;
    assert.ok(Array.isArray(months));
});

test('errors', async () => {
    const id = 'prd_01h455vb4pex5vsknk084sn02q';
    const [notFound] = await refused(404, api.products.getProduct({ id }));
    assert.deepEqual([notFound.code, notFound.field], ['not_found', undefined]);
    const createPlan = { productId: id, name: 'Team' };
    const [invalid] = await refused(400, api.plans.createPlan({ createPlan }));
    assert.deepEqual([invalid.code, invalid.field], ['invalid_request', 'productId']);
    const [, response] = await refused(401, connect(url).keys.getCurrentKey());
    assert.match(response.headers.get('WWW-Authenticate') ?? '', /^Bearer/);
});

test('a rate that is used up', async () => {
    const limited = connect(environment('LIMITED_LICD_URL'), environment('LIMITED_LICD_KEY'));
    const first = await limited.keys.getCurrentKeyRaw();
    const rate = ['RateLimit-Limit', 'RateLimit-Remaining'];
    assert.deepEqual(rate.map((name) => first.raw.headers.get(name)), ['1', '0']);
    const [failure, response] = await refused(429, limited.keys.getCurrentKey());
    assert.equal(failure.code, 'rate_limited');
    const seconds = failure.retryAfter;
    assert.ok(seconds !== undefined && seconds >= 1 && seconds <= 60);
    assert.equal(response.headers.get('Retry-After'), String(seconds));
    assert.equal(response.headers.get('RateLimit-Remaining'), '0');
});

test('a request that is sent again', async () => {
    const request = { createProduct: { name: 'Once' }, idempotencyKey: randomUUID() };
    const first = await api.products.createProductRaw(request);
    const again = await api.products.createProductRaw(request);
    assert.deepEqual((await first.value()).data, (await again.value()).data);
    const replayed = [first, again].map((it) => it.raw.headers.get('Idempotency-Replayed'));
    assert.deepEqual(replayed, [null, 'true']);
    const other = { ...request, createProduct: { name: 'Other' } };
    const [failure] = await refused(422, api.products.createProduct(other));
    assert.equal(failure.code, 'idempotency_key_reused');
});

test('a record that has changed since', async () => {
    const seen = await api.products.createProductRaw({ createProduct: { name: 'Studio' } });
    const { id } = (await seen.value()).data;
    const ifMatch = seen.raw.headers.get('ETag') ?? assert.fail('no tag');
    const change = { id, ifMatch, updateProduct: { name: 'Atelier' } };
    await api.products.updateProduct(change);
    const [failure] = await refused(409, api.products.updateProduct(change));
    assert.equal(failure.code, 'changed');
});

test('what later versions may add is read', () => {
    const later = licd.ValidationFromJSON({ valid: false, reason: 'moon_phase', more: 1 });
    assert.deepEqual([later.valid, later.reason], [false, 'moon_phase']);
    const failure = { success: false, error: 'New', code: 'new', requestId: 'r', more: 1 };
    assert.equal(licd.FailureFromJSON(failure).code, 'new');
});

test('no operation is missed', () => {
    type Paths = Record<string, Record<string, { operationId: string }>>;
    const { paths } = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as { paths: Paths };
    const operations = Object.values(paths).flatMap((path) => Object.values(path));
    const ids = operations.map((operation) => operation.operationId);
    assert.deepEqual(ids.filter((id) => !called.has(id)), []);
});
