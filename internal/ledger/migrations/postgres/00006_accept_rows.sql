-- The rows of an accept as one value a table: unnest of an array a column makes
-- a set of each and joins them. A later version that writes more columns makes
-- types of its own, as the binaries beside it still send these.

-- +goose Up
CREATE TYPE accept_key AS (app_id uuid, key text, fingerprint text, message_id uuid, batch_id uuid, created_at bigint);
CREATE TYPE accept_message AS (
  id uuid, app_id uuid, api_key_id uuid, profile_id uuid, batch_id uuid, resend_of uuid,
  request_id text, profile_name text, tenant text, locale text, lane text, ref_scope text, ref_id text,
  category text, subject text, header_message_id text, actor_type text, actor_id text, actor_name text,
  size_bytes bigint, created_at bigint, recipients integer, send_at bigint, expires_at bigint);
CREATE TYPE accept_content AS (
  message_id uuid, text_body text, html_body text, headers text, from_name text, reply_to text, attachments text);
CREATE TYPE accept_delivery AS (
  id uuid, message_id uuid, envelope_id uuid, app_id uuid, profile_id uuid,
  created_at bigint, due_at bigint, expires_at bigint, position smallint,
  kind text, lane text, address text, address_folded text COLLATE "C", display_name text, recipient_key text);
CREATE TYPE accept_audit AS (
  id uuid, app_id uuid, api_key_id uuid, at bigint, request_id text, actor_type text, actor_id text,
  action text, target_type text, target_id text, result text, detail text);

-- +goose Down
DROP TYPE accept_key, accept_message, accept_content, accept_delivery, accept_audit;
