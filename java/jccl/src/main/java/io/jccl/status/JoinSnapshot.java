package io.jccl.status;

import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The state of a process that waits to join a job, at one moment.
 *
 * @param job the name of the job, see {@link JobIdentity}; empty while it is not known
 * @param members the addresses at which the process looks for the job's ranks
 * @param nanos the time since the process began to wait
 * @param outcomes the last answer of each address
 */
public record JoinSnapshot(String job, String members, long nanos, Map<String, String> outcomes) {

    private static final int MAX_TEXT = 1000;
    private static final int MAX_ADDRESSES = 1 << 16;

    void write(WireWriter out) {
        out.text(job, MAX_TEXT).text(members, MAX_TEXT).i64(nanos).i32(outcomes.size());
        outcomes.forEach((address, outcome) -> out.text(address, MAX_TEXT).text(outcome, MAX_TEXT));
    }

    static JoinSnapshot read(WireReader in) {
        String job = in.text(MAX_TEXT);
        String members = in.text(MAX_TEXT);
        long nanos = in.i64();
        Map<String, String> outcomes = new LinkedHashMap<>();
        for (int left = in.i32In("addresses", 0, MAX_ADDRESSES); left > 0; left--) {
            outcomes.put(in.text(MAX_TEXT), in.text(MAX_TEXT));
        }
        return new JoinSnapshot(job, members, nanos, outcomes);
    }
}
