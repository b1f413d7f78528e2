package io.jccl.cli.perf;

import com.fasterxml.jackson.core.JsonGenerator;
import io.jccl.Execution;
import io.jccl.cli.output.Json;
import java.io.IOException;
import java.util.Optional;

/**
 * The result of one size.
 *
 * @param collective label of the collective
 * @param backend backend that executes operations, {@code host} or {@code cuda}
 * @param transport the transports in use between ranks, joined by {@code +}
 * @param ranks number of ranks
 * @param bytes size of the larger buffer
 * @param count elements as the call counts them; the largest count in v-forms
 * @param type label of the type
 * @param op label of the operation; {@code none} if nothing is reduced
 * @param root the root; -1 if there is none
 * @param execution how the operation was executed
 * @param outOfPlace results with two buffers
 * @param inPlace results with one buffer
 * @param peer times of the other library, which executed the same operations in turn; empty without one
 */
record PerfRow(
        String collective,
        String backend,
        String transport,
        int ranks,
        long bytes,
        long count,
        String type,
        String op,
        int root,
        Execution execution,
        Side outOfPlace,
        Side inPlace,
        Optional<PeerTimes> peer) {

    /**
     * The times of the other library, on the same buffers.
     *
     * @param version its version
     * @param outOfPlace results with two buffers
     * @param inPlace results with one buffer
     */
    record PeerTimes(String version, Side outOfPlace, Side inPlace) {}

    /**
     * The times of one placement (out of place or in place) and the result of its check.
     *
     * @param timeUs mean time in µs; null if the collective has no such placement
     * @param p50Us median in µs
     * @param p99Us 99th percentile in µs
     * @param algbwGBps algorithm bandwidth: bytes divided by time
     * @param busbwGBps bus bandwidth: algorithm bandwidth times the collective's factor
     * @param wrong number of wrong elements on all ranks; null if nothing was checked
     */
    record Side(Double timeUs, Double p50Us, Double p99Us, Double algbwGBps, Double busbwGBps, Long wrong) {

        static Side of(Stopwatch.Times times, long bytes, double busFactor, Long wrong) {
            double algbw = bytes / (times.averageUs() * 1e3);
            return new Side(times.averageUs(), times.p50Us(), times.p99Us(), algbw, algbw * busFactor, wrong);
        }

        private long wrongOr0() {
            return wrong == null ? 0 : wrong;
        }

        /**
         * Returns the results of a collective without such a placement: no times, and no wrong elements if results are
         * checked.
         */
        static Side absent(boolean checked) {
            return new Side(null, null, null, null, null, checked ? 0L : null);
        }

        /** Returns this median divided by that of another library; null if one of them was not measured. */
        Double ratioTo(Side other) {
            return p50Us == null || other.p50Us == null ? null : (Double) (p50Us / other.p50Us);
        }

        private void writeTo(JsonGenerator json, String name) throws IOException {
            json.writeObjectFieldStart(name);
            Json.number(json, "time_us", timeUs);
            Json.number(json, "p50_us", p50Us);
            Json.number(json, "p99_us", p99Us);
            Json.number(json, "algbw_gbps", algbwGBps);
            Json.number(json, "busbw_gbps", busbwGBps);
            if (wrong == null) {
                json.writeNullField("wrong");
            } else {
                json.writeNumberField("wrong", wrong);
            }
            json.writeEndObject();
        }
    }

    /** Returns this row of a run as one line of JSON, in the form of {@code docs/schema/perf.schema.json}. */
    String toJson(RunInfo run) {
        return Json.line(json -> {
            json.writeStartObject();
            json.writeStringField("collective", collective);
            json.writeStringField("backend", backend);
            json.writeStringField("transport", transport);
            json.writeNumberField("ranks", ranks);
            json.writeNumberField("bytes", bytes);
            json.writeNumberField("count", count);
            json.writeStringField("type", type);
            json.writeStringField("op", op);
            json.writeStringField("algorithm", execution.algorithm().label());
            json.writeStringField("protocol", execution.protocol().label());
            json.writeNumberField("channels", execution.channels());
            outOfPlace.writeTo(json, "out_of_place");
            inPlace.writeTo(json, "in_place");
            if (peer.isPresent()) {
                writePeer(json, peer.get());
            }
            run.writeTo(json);
            json.writeEndObject();
        });
    }

    private void writePeer(JsonGenerator json, PeerTimes other) throws IOException {
        json.writeObjectFieldStart("peer");
        json.writeStringField("name", "nccl");
        json.writeStringField("version", other.version);
        other.outOfPlace.writeTo(json, "out_of_place");
        other.inPlace.writeTo(json, "in_place");
        Json.number(json, "out_of_place_ratio", outOfPlace.ratioTo(other.outOfPlace));
        Json.number(json, "in_place_ratio", inPlace.ratioTo(other.inPlace));
        json.writeEndObject();
    }

    /** Returns the number of wrong elements of both placements, and of the other library if there is one. */
    long wrong() {
        long others = peer.map(other -> other.outOfPlace.wrongOr0() + other.inPlace.wrongOr0())
                .orElse(0L);
        return outOfPlace.wrongOr0() + inPlace.wrongOr0() + others;
    }
}
