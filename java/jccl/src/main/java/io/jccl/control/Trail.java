package io.jccl.control;

import io.jccl.wire.LastEntered;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The fingerprints of a rank's last operations in one sequence. A fingerprint covers an operation and all operations
 * before it. So once two ranks have called an operation differently, their fingerprints of it and of all later
 * operations differ.
 *
 * @param last the number of the last operation in its own sequence
 * @param fingerprints the fingerprints of the operations up to the last, in their order; 0 for a fingerprint that is
 *     not known
 */
public record Trail(long last, List<Long> fingerprints) {

    /**
     * The maximum number of fingerprints. More are not needed: ranks that call different operations come to a stop
     * within a few operations, because the slots of their connections fill up.
     */
    static final int MAX = 64;

    static final Trail NONE = new Trail(0, List.of());

    /** Copies the list. */
    public Trail {
        fingerprints = List.copyOf(fingerprints);
    }

    /** Creates a trail of which only the last operation is known. */
    Trail(long last, long fingerprint) {
        this(last, List.of(fingerprint));
    }

    /** Returns the trail of the sequence to which an operation belongs. */
    static Trail of(StatusSource source, long sequence) {
        long last = source.lastEntered().of(sequence);
        List<Long> fingerprints = new ArrayList<>();
        for (long at = last; LastEntered.plain(at) > 0 && fingerprints.size() < MAX; at--) {
            long fingerprint =
                    source.recordAt(at).map(OperationRecord::fingerprint).orElse(0L);
            if (fingerprint == 0) {
                break;
            }
            fingerprints.add(fingerprint);
        }
        Collections.reverse(fingerprints);
        return new Trail(LastEntered.plain(last), fingerprints);
    }

    static boolean differ(long one, long other) {
        return one != 0 && other != 0 && one != other;
    }

    /** Returns the number of the first operation whose fingerprint is included. */
    long first() {
        return last - fingerprints.size() + 1;
    }

    void write(WireWriter out) {
        out.i64(last).u8(fingerprints.size());
        fingerprints.forEach(out::i64);
    }

    static Trail read(WireReader in) {
        long last = in.i64();
        int n = in.u8();
        if (n > MAX) {
            throw new WireException("fingerprints=" + n + ": expected at most " + MAX);
        }
        List<Long> fingerprints = new ArrayList<>(n);
        for (int i = 0; i < n; i++) {
            fingerprints.add(in.i64());
        }
        return new Trail(last, fingerprints);
    }
}
