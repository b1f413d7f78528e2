package io.jccl.status;

import io.jccl.TransportKind;
import io.jccl.control.Codecs;
import io.jccl.control.RankStatus;
import io.jccl.wire.LastEntered;
import io.jccl.wire.Limits;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * The state of one rank of one communicator at one moment.
 *
 * @param communicator the short name of the communicator; empty until the ranks have met
 * @param job the name of the job, see {@link JobIdentity}
 * @param generation how often the ranks have reformed the communicator
 * @param size the number of ranks
 * @param phase the phase of the communicator's life
 * @param step the step of initialisation; later the call that makes another communicator from its ranks, empty if there
 *     is none
 * @param phaseNanos the time since this step or phase began
 * @param failure the cause of the failure; empty if the communicator has not failed
 * @param failedRanks the ranks that the agreed failure blames
 * @param status the call at the sequence number in question, and the points at which the rank's channels wait
 * @param waitNanos the duration of each of these waits; -1 if it is not known
 * @param lastDone the last operations that are done
 * @param underWay the operation that the rank has begun and not ended
 * @param traffic the counters of each transport in use
 * @param totals the counters of all operations
 * @param pace the time of the last operations
 */
public record RankSnapshot(
        String communicator,
        String job,
        int generation,
        int size,
        Phase phase,
        String step,
        long phaseNanos,
        String failure,
        SortedSet<Integer> failedRanks,
        RankStatus status,
        List<Long> waitNanos,
        LastEntered lastDone,
        Optional<CommunicatorView.UnderWay> underWay,
        List<CommunicatorView.Traffic> traffic,
        CommunicatorView.Totals totals,
        CommunicatorView.Pace pace) {

    /** A phase of a communicator's life. The order of the constants is part of the wire format. */
    public enum Phase {
        /** The ranks meet and connect. */
        INITIALISING,
        /** Operations may be called. */
        RUNNING,
        /** The communicator has failed; every call throws. */
        FAILED,
        /** The communicator is being closed. */
        CLOSING
    }

    private static final int MAX_NAME = 64;
    private static final int MAX_TEXT = 4000;

    /** Returns the number of the rank. */
    public int rank() {
        return status.rank();
    }

    void write(WireWriter out) {
        out.text(communicator, MAX_NAME).text(job, MAX_NAME).i32(generation).i32(size);
        out.u8(phase.ordinal()).text(step, MAX_TEXT).i64(phaseNanos);
        out.text(failure, MAX_TEXT).ranks(failedRanks);
        Codecs.write(out, status);
        out.i32(waitNanos.size());
        waitNanos.forEach(out::i64);
        out.i64(lastDone.host()).i64(lastDone.device());
        out.flag(underWay.isPresent());
        underWay.ifPresent(
                it -> out.text(it.call(), MAX_TEXT).i64(it.sequence()).i64(it.nanos()));
        out.u8(traffic.size());
        for (CommunicatorView.Traffic one : traffic) {
            out.u8(one.transport().ordinal()).i32(one.peers());
            out.i64(one.sentBytes()).i64(one.longWaits()).i64(one.waitedNanos());
        }
        out.i64(totals.operations()).i64(totals.bytes()).i64(totals.nanos());
        out.i32(pace.operations()).i64(pace.insideNanos()).i64(pace.outsideNanos());
    }

    static RankSnapshot read(WireReader in) {
        String communicator = in.text(MAX_NAME);
        String job = in.text(MAX_NAME);
        int generation = in.i32();
        int size = in.i32In("size", 1, Limits.MAX_RANKS);
        Phase phase = in.constant(Phase.class);
        String step = in.text(MAX_TEXT);
        long phaseNanos = in.i64();
        String failure = in.text(MAX_TEXT);
        SortedSet<Integer> failedRanks = new TreeSet<>(in.ranks(size));
        RankStatus status = Codecs.readStatus(in, size);
        List<Long> waitNanos = new ArrayList<>();
        for (int left = in.i32In("waits", 0, status.waits().size()); left > 0; left--) {
            waitNanos.add(in.i64());
        }
        if (waitNanos.size() != status.waits().size()) {
            throw new WireException(
                    "waits=" + waitNanos.size() + ": expected " + status.waits().size());
        }
        LastEntered lastDone = new LastEntered(in.i64(), in.i64());
        Optional<CommunicatorView.UnderWay> underWay = in.flag()
                ? Optional.of(new CommunicatorView.UnderWay(in.text(MAX_TEXT), in.i64(), in.i64()))
                : Optional.empty();
        List<CommunicatorView.Traffic> traffic = new ArrayList<>();
        for (int left = in.u8(); left > 0; left--) {
            traffic.add(new CommunicatorView.Traffic(
                    in.constant(TransportKind.class), in.i32(), in.i64(), in.i64(), in.i64()));
        }
        CommunicatorView.Totals totals = new CommunicatorView.Totals(in.i64(), in.i64(), in.i64());
        CommunicatorView.Pace pace = new CommunicatorView.Pace(in.i32(), in.i64(), in.i64());
        return new RankSnapshot(
                communicator,
                job,
                generation,
                size,
                phase,
                step,
                phaseNanos,
                failure,
                failedRanks,
                status,
                waitNanos,
                lastDone,
                underWay,
                traffic,
                totals,
                pace);
    }
}
