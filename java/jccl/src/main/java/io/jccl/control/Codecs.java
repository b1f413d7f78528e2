package io.jccl.control;

import io.jccl.ChannelWait;
import io.jccl.Collective;
import io.jccl.DataType;
import io.jccl.Protocol;
import io.jccl.RankOperation;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.WaitFor;
import io.jccl.wire.LastEntered;
import io.jccl.wire.Limits;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;

/** The wire format of statuses and failures. Methods that read throw {@link WireException} for invalid bytes. */
public final class Codecs {

    /** The maximum number of waits in the status of a rank. */
    static final int MAX_WAITS = 64;

    private static final int NONE = 0xff;

    private static final int MAX_WIRE = 64; // characters of the name of a format between hosts
    private static final int MAX_NETWORK = 200;

    private Codecs() {}

    /** Writes the status of a rank. */
    public static void write(WireWriter out, RankStatus status) {
        write(out, status, 0);
    }

    /**
     * Writes the status of a rank. Writes this rank as its difference from {@code before}, the rank of the previous
     * row, and all other ranks in the status as their differences from this rank. So neighbouring ranks that do the
     * same have rows with the same bytes.
     */
    private static void write(WireWriter out, RankStatus status, int before) {
        int rank = status.rank();
        out.i32(rank - before).u8(status.state().ordinal());
        status.lastEntered().write(out);
        out.u8(status.operation().isPresent() ? 1 : 0);
        status.operation().ifPresent(operation -> write(out, operation, rank));
        int n = Math.min(status.waits().size(), MAX_WAITS);
        out.u8(n);
        for (ChannelWait wait : status.waits().subList(0, n)) {
            out.i32(wait.rank() - rank).i32(wait.channel()).i32(wait.peer() - rank);
            out.u8(ordinal(wait.transport())).u8(ordinal(wait.waitFor())).u8(ordinal(wait.protocol()));
            out.i64(wait.step());
        }
        status.trail().write(out);
        out.text(status.network(), MAX_NETWORK);
    }

    private static void write(WireWriter out, OperationRecord record, int rank) {
        RankOperation operation = record.operation();
        out.i64(record.fingerprint()).i32(operation.rank() - rank).i64(operation.sequence());
        out.u8(operation.state().ordinal()).u8(ordinal(operation.collective())).u8(ordinal(operation.type()));
        out.u8(ordinal(operation.op())).i64(operation.count()).i32(operation.root());
        out.text(operation.wire(), MAX_WIRE);
    }

    private static int ordinal(Enum<?> constant) {
        return constant == null ? NONE : constant.ordinal();
    }

    /** Reads the status of a rank in a communicator of {@code size} ranks. */
    public static RankStatus readStatus(WireReader in, int size) {
        return readStatus(in, size, 0);
    }

    private static RankStatus readStatus(WireReader in, int size, int before) {
        int rank = readRank(in, "rank", before, 0, size);
        RankStatus.State state = in.constant(RankStatus.State.class);
        LastEntered lastEntered = LastEntered.read(in);
        Optional<OperationRecord> operation = in.flag() ? Optional.of(readRecord(in, size, rank)) : Optional.empty();
        int n = in.u8();
        if (n > MAX_WAITS) {
            throw new WireException("waits=" + n + ": expected at most " + MAX_WAITS);
        }
        List<ChannelWait> waits = new ArrayList<>(n);
        for (int i = 0; i < n; i++) {
            waits.add(readWait(in, size, rank));
        }
        return new RankStatus(rank, state, lastEntered, operation, waits, Trail.read(in), in.text(MAX_NETWORK));
    }

    /** Reads a rank that was written as its difference from the rank {@code from}. */
    private static int readRank(WireReader in, String name, int from, int min, int size) {
        return from + in.i32In(name + " from " + from, min - from, size - 1 - from);
    }

    private static ChannelWait readWait(WireReader in, int size, int before) {
        int rank = readRank(in, "rank", before, 0, size);
        int channel = in.i32();
        int peer = readRank(in, "peer", before, -1, size);
        TransportKind transport = in.constant(TransportKind.class);
        WaitFor waitFor = in.constant(WaitFor.class);
        return new ChannelWait(rank, channel, peer, transport, waitFor, in.constant(Protocol.class), in.i64());
    }

    private static OperationRecord readRecord(WireReader in, int size, int before) {
        long fingerprint = in.i64();
        int rank = readRank(in, "rank", before, 0, size);
        long sequence = in.i64();
        RankOperation.State state = in.constant(RankOperation.State.class);
        Collective collective = in.constantOrNull(Collective.class);
        DataType type = in.constantOrNull(DataType.class);
        ReduceOp op = in.constantOrNull(ReduceOp.class);
        long count = in.i64();
        int root = in.i32();
        String wire = in.text(MAX_WIRE);
        return new OperationRecord(
                fingerprint, new RankOperation(rank, sequence, state, collective, type, op, count, root, wire));
    }

    /**
     * Encodes a failure. Every rank receives the rows of all ranks. A {@link GatherTable} keeps the frame short: it
     * contains equal successive rows once.
     */
    static byte[] encode(FailureReport report) {
        WireWriter out = head(report).text(report.text(), Limits.MAX_TEXT);
        byte[][] rows = new byte[report.rows().size()][];
        int before = 0;
        for (int i = 0; i < rows.length; i++) {
            WireWriter row = new WireWriter();
            write(row, report.rows().get(i), before);
            rows[i] = row.toBytes();
            before = report.rows().get(i).rank();
        }
        out.i32(rows.length);
        GatherTable.write(out, rows);
        return out.toBytes();
    }

    /** Returns the encoded part before the text of a failure whose kind is ABORTED and which no rank has reported. */
    static byte[] abortedBeforeText() {
        return head(FailureReport.gone(FailureReport.Kind.ABORTED, Set.of(), 0, ""))
                .toBytes();
    }

    /** Returns the encoded part after the text of a failure without rows. */
    static byte[] noRows() {
        return new WireWriter().i32(0).toBytes();
    }

    private static WireWriter head(FailureReport report) {
        return new WireWriter()
                .u8(report.kind().ordinal())
                .i64(report.sequence())
                .i32(report.reporter())
                .ranks(report.failedRanks())
                .ranks(report.missingRanks());
    }

    static FailureReport decodeFailure(WireReader in, int size) {
        FailureReport.Kind kind = in.constant(FailureReport.Kind.class);
        long sequence = in.i64();
        int reporter = in.i32In("reporter", -1, size - 1);
        SortedSet<Integer> failed = in.ranks(size);
        SortedSet<Integer> missing = in.ranks(size);
        String text = in.text(Limits.MAX_TEXT);
        int n = in.i32In("rows", 0, size);
        List<RankStatus> rows = new ArrayList<>();
        int before = 0;
        for (byte[] part : GatherTable.read(in, n)) {
            WireReader row = new WireReader(part);
            rows.add(readStatus(row, size, before));
            row.end();
            before = rows.get(rows.size() - 1).rank();
        }
        return new FailureReport(kind, sequence, reporter, failed, missing, rows, text);
    }
}
