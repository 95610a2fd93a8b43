#!/bin/sh
# One episode over plain HTTP with curl: `sh examples/http/episode.sh [URL]`, with `companyos up` running.
set -eu
url=${1:-http://127.0.0.1:8000}
id=curl-$$
episode=$url/v1/episodes/$id

ask() {
    curl -sS ${COMPANYOS_TRAINER_TOKEN:+-H "Authorization: Bearer $COMPANYOS_TRAINER_TOKEN"} "$@"
    echo
}

step() {
    ask "$episode/step" -d "{\"step\": $1, \"action\": {\"tool_name\": \"$2\", \"arguments\": $3}}"
}

ask --fail-with-body "$url/v1/episodes" \
    -d "{\"episode_id\": \"$id\", \"scenario\": \"vendor_onboarding\", \"seed\": 7, \"chaos\": 1}"
ask "$episode/tools?format=openai" | cut -c 1-160

step 1 ticketdesk_list_tickets '{"limit": 1}'
step 2 datahub_list_sources '{}'
step 3 finish '{"outcome": "done", "summary": "Looked around."}'
step 4 wait '{"minutes": 5}'        # 409: {"code": "episode-done", ...}

ask "$episode/state"
ask "$episode/render?format=ansi"
ask --fail-with-body -X DELETE "$episode"
