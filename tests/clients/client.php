<?php
// Calls a licd with the PHP client that OpenAPI Generator makes. `run` sets LICD_URL and LICD_KEY, and
// names the client's folder.

declare(strict_types=1);

use OpenAPI\Client\Api;
use OpenAPI\Client\ApiException;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model;
use OpenAPI\Client\ObjectSerializer;

require 'GuzzleHttp/autoload.php';
$client = $argv[1];
spl_autoload_register(function (string $class) use ($client): void {
    $path = str_replace(['OpenAPI\\Client\\', '\\'], ['', '/'], $class);
    if (is_file("$client/lib/$path.php")) {
        require "$client/lib/$path.php";
    }
});

// What the client complains about fails the test, but for what newer versions of PHP will not have.
error_reporting(E_ALL & ~E_DEPRECATED);
set_error_handler(function (int $level, string $message, string $file, int $line): bool {
    if (!(error_reporting() & $level)) {
        return true;
    }
    throw new ErrorException($message, 0, $level, $file, $line);
});

function same(mixed $expected, mixed $found): void
{
    if ($expected !== $found) {
        throw new Exception('not ' . var_export($expected, true) . ': ' . var_export($found, true));
    }
}

$configuration = (new Configuration())
    ->setHost(getenv('LICD_URL'))
    ->setAccessToken(getenv('LICD_KEY'));
[$products, $plans, $licenses, $users, $validation] = array_map(
    fn (string $api) => new $api(null, $configuration),
    [Api\ProductsApi::class, Api\PlansApi::class, Api\LicensesApi::class, Api\UsersApi::class,
        Api\ValidationApi::class],
);

$product = $products->createProduct(new Model\CreateProduct(['name' => 'Łódź 東京']))->getData();
same('Łódź 東京', $product->getName());
$terms = ['product_id' => $product->getId(), 'name' => 'Team', 'max_seats' => 1];
$plan = $plans->createPlan(new Model\CreatePlan($terms + ['features' => ['sso']]))->getData();
same([1, ['sso'], null], [$plan->getMaxSeats(), $plan->getFeatures(), $plan->getExpiresInDays()]);

$new = new Model\CreateLicense(['plan_id' => $plan->getId(), 'expires_in_days' => 30]);
$once = bin2hex(random_bytes(16));
$license = $licenses->createLicense($new, $once)->getData();
same($license->getId(), $licenses->createLicense($new, $once)->getData()->getId());
same('active', (string) $license->getStatus());
$clear = new Model\UpdateLicense(['clear' => ['expiresAt'], 'name' => 'Acme']);
same(null, $licenses->updateLicense($license->getId(), $clear)->getData()->getExpiresAt());
same('Acme', $licenses->getLicense($license->getId())->getData()->getName());

foreach (['ada', 'grace'] as $user) {
    $assign = new Model\AssignLicense(['user_id' => $user, 'metadata' => ['by' => 'test']]);
    $licenses->assignLicense($license->getId(), $assign);
}
$ask = fn (string $user) =>
    $validation->validate(new Model\Validate(['user_id' => $user]))->getData();
$valid = $ask('ada');
same([true, ['sso'], null], [$valid->getValid(), $valid->getFeatures(), $valid->getReason()]);
same($license->getId(), $valid->getActivation()->getLicenseId());
$refusal = $ask('grace');
same([false, 'exceeded_seats'], [$refusal->getValid(), (string) $refusal->getReason()]);
same(null, $refusal->getLicense());

$page = $users->listUsers(null, null, 1);
same('ada', $page->getData()[0]->getExternalId());
$next = $users->listUsers(null, null, 1, $page->getNextCursor());
same(['grace', null], [$next->getData()[0]->getExternalId(), $next->getNextCursor()]);

try {
    $unknown = ['plan_id' => 'pln_01h455vb4pex5vsknk084sn02q'];
    $licenses->createLicense(new Model\CreateLicense($unknown));
    throw new Exception('not refused');
} catch (ApiException $refused) {
    $failure = $refused->getResponseObject();
    same([400, 'invalid_request', 'planId'],
        [$refused->getCode(), $failure->getCode(), $failure->getField()]);
}

$later = json_decode('{"valid": false, "reason": "moon_phase", "more": {"a": [1]}}');
$later = ObjectSerializer::deserialize($later, Model\Validation::class);
same([false, 'moon_phase'], [$later->getValid(), (string) $later->getReason()]);
