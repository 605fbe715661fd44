// Verifies a lease with jsonwebtoken, and prints whom it is for.
const { createPublicKey } = require('node:crypto');
const { readFileSync } = require('node:fs');
const jwt = require('jsonwebtoken');

const [lease, set] = process.argv.slice(2).map((file) => readFileSync(file, 'utf8').trim());
const { header } = jwt.decode(lease, { complete: true });
const jwk = JSON.parse(set).keys.find((key) => key.kid === header.kid);
const key = createPublicKey({ key: jwk, format: 'jwk' });
const audience = process.env.APP_LICENSE_PRODUCT;
const verify = (token) => jwt.verify(token, key, { algorithms: ['ES256'], audience }).sub;

const [head, claims, signature] = lease.split('.');
const changed = `${head}.${claims}.${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`;
try {
    verify(changed);
    throw new Error('a changed signature was accepted');
} catch (error) {
    if (error.name !== 'JsonWebTokenError') throw error;
}
console.log(verify(lease));
