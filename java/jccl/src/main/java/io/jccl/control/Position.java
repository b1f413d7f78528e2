package io.jccl.control;

import io.jccl.wire.LastEntered;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.nio.ByteBuffer;

/**
 * The progress of a rank, with fingerprints of its operations so far. Ranks that have called the same operations have
 * the same fingerprints.
 *
 * @param lastEntered the last operations that the rank entered
 * @param host the fingerprint of its operations on host memory; 0 if it is not known
 * @param device the fingerprint of its operations on a device; 0 if it is not known
 */
public record Position(LastEntered lastEntered, long host, long device) {

    /** The length of a position on the wire in bytes. */
    static final int BYTES = 4 * Long.BYTES;

    /** The position of a rank that has entered nothing. */
    static final Position START = new Position(LastEntered.NOTHING, 0, 0);

    /** Returns true if a status source reports the same last entered operations as this position. Allocates nothing. */
    boolean isOf(StatusSource source) {
        return source.hasEntered(lastEntered.host(), lastEntered.device());
    }

    static Position of(StatusSource source) {
        LastEntered last = source.lastEntered();
        return new Position(
                last,
                fingerprint(source, last.host()),
                last.device() == 0 ? 0 : fingerprint(source, LastEntered.onDevice(last.device())));
    }

    private static long fingerprint(StatusSource source, long sequence) {
        return source.recordAt(sequence).map(OperationRecord::fingerprint).orElse(0L);
    }

    /** Returns true if this rank has entered all operations that another rank has entered. */
    boolean hasReached(Position other) {
        return lastEntered.hasReached(other.lastEntered);
    }

    /**
     * Returns the trail of the sequence to which an operation belongs. The trail contains only the last fingerprint.
     */
    Trail trail(long sequence) {
        return new Trail(LastEntered.plain(lastEntered.of(sequence)), LastEntered.isOnDevice(sequence) ? device : host);
    }

    /**
     * Returns an operation that this rank and another have called differently, see {@link LastEntered}; 0 if none is
     * known.
     */
    long differenceFrom(Position other) {
        if (lastEntered.host() == other.lastEntered.host() && Trail.differ(host, other.host)) {
            return lastEntered.host();
        }
        if (lastEntered.device() == other.lastEntered.device() && Trail.differ(device, other.device)) {
            return LastEntered.onDevice(lastEntered.device());
        }
        return 0;
    }

    WireWriter write(WireWriter out) {
        lastEntered.write(out);
        return out.i64(host).i64(device);
    }

    /** Writes this position. Allocates nothing. */
    void write(ByteBuffer out) {
        out.putLong(lastEntered.host())
                .putLong(lastEntered.device())
                .putLong(host)
                .putLong(device);
    }

    static Position read(WireReader in) {
        return read(in, START);
    }

    /** Reads a position. If it equals {@code known}, returns {@code known} and allocates nothing. */
    static Position read(WireReader in, Position known) {
        long hostEntered = in.i64();
        long deviceEntered = in.i64();
        long host = in.i64();
        long device = in.i64();
        in.end();
        LastEntered last = known.lastEntered;
        boolean isSame = last.host() == hostEntered
                && last.device() == deviceEntered
                && known.host == host
                && known.device == device;
        return isSame ? known : new Position(new LastEntered(hostEntered, deviceEntered), host, device);
    }
}
