# Calls a licd with the Ruby client that OpenAPI Generator makes. `run` sets LICD_URL and LICD_KEY, and
# puts the client into the load path.

require 'openapi_client'
require 'securerandom'
require 'uri'
include OpenapiClient

def same(expected, found)
  raise "not #{expected.inspect}: #{found.inspect}" if expected != found
end

configuration = Configuration.new do |it|
  address = URI(ENV.fetch('LICD_URL'))
  it.scheme = address.scheme
  it.host = "#{address.host}:#{address.port}"
  it.base_path = ''
  it.server_index = nil
  it.access_token = ENV.fetch('LICD_KEY')
end
client = ApiClient.new(configuration)
products, plans, licenses, users, validation =
  [ProductsApi, PlansApi, LicensesApi, UsersApi, ValidationApi].map { |api| api.new(client) }

product = products.create_product(CreateProduct.new(name: 'Łódź 東京')).data
same 'Łódź 東京', product.name
terms = { product_id: product.id, name: 'Team', max_seats: 1, features: ['sso'] }
plan = plans.create_plan(CreatePlan.new(terms)).data
same [1, ['sso'], nil], [plan.max_seats, plan.features, plan.expires_in_days]

new = CreateLicense.new(plan_id: plan.id, expires_in_days: 30)
once = SecureRandom.uuid
license = licenses.create_license(new, idempotency_key: once).data
same license.id, licenses.create_license(new, idempotency_key: once).data.id
same ['active', Time], [license.status, license.expires_at.class]
clear = UpdateLicense.new(clear: ['expiresAt'], name: 'Acme')
same nil, licenses.update_license(license.id, clear).data.expires_at
same 'Acme', licenses.get_license(license.id).data.name

%w[ada grace].each do |user|
  assign = AssignLicense.new(user_id: user, metadata: { by: 'test' })
  licenses.assign_license(license.id, assign)
end
ask = ->(user) { validation.validate(Validate.new(user_id: user)).data }
valid = ask.call('ada')
same [true, ['sso'], nil], [valid.valid, valid.features, valid.reason]
same license.id, valid.activation.license_id
refusal = ask.call('grace')
same [false, 'exceeded_seats', nil], [refusal.valid, refusal.reason, refusal.license]

page = users.list_users(limit: 1)
same 'ada', page.data.first.external_id
rest = users.list_users(limit: 1, after: page.next_cursor)
same ['grace', nil], [rest.data.first.external_id, rest.next_cursor]

begin
  licenses.create_license(CreateLicense.new(plan_id: 'pln_01h455vb4pex5vsknk084sn02q'))
  raise 'not refused'
rescue ApiError => refused
  failure = Failure.build_from_hash(JSON.parse(refused.response_body))
  same [400, 'invalid_request', 'planId'], [refused.code, failure.code, failure.field]
end

later = Validation.build_from_hash({ 'valid' => false, 'reason' => 'moon_phase', 'more' => 1 })
same [false, 'moon_phase'], [later.valid, later.reason]
