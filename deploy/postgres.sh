#!/bin/sh
# Two roles without powers and a database: `headwater` writes views, `headwater_reader` executes statements of others.
# Run by the image of PostgreSQL when its data folder is made; elsewhere: as a superuser, with both passwords set.
set -eu
psql --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" \
  --set writer="$HEADWATER_PASSWORD" --set reader="$READER_PASSWORD" <<'SQL'
CREATE ROLE headwater LOGIN PASSWORD :'writer';
CREATE ROLE headwater_reader LOGIN PASSWORD :'reader';
CREATE DATABASE headwater OWNER headwater;
SQL
