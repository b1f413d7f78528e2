package io.jccl.bootstrap;

import io.jccl.ChannelWait;
import io.jccl.Collective;
import io.jccl.DataType;
import io.jccl.Protocol;
import io.jccl.RankOperation;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;

/** The wire format of status and failure. Reading throws {@link WireException} for bytes that cannot be right. */
final class Codecs {

    /** The maximum number of waits that a rank reports. */
    static final int MAX_WAITS = 64;

    /** The maximum number of characters of a text. */
    static final int MAX_TEXT = 2000;

    /** The maximum number of ranks of one communicator. */
    static final int MAX_RANKS = 1 << 16;

    private static final int NONE = 0xff;

    private Codecs() {}

    static void write(WireWriter out, RankStatus status) {
        out.i32(status.rank()).u8(status.state().ordinal());
        status.lastEntered().write(out);
        out.u8(status.operation().isPresent() ? 1 : 0);
        status.operation().ifPresent(operation -> write(out, operation));
        int n = Math.min(status.waits().size(), MAX_WAITS);
        out.u8(n);
        for (ChannelWait wait : status.waits().subList(0, n)) {
            out.i32(wait.rank()).i32(wait.channel()).i32(wait.peer()).u8(ordinal(wait.transport()));
            out.u8(wait.receiving() ? 1 : 0).u8(ordinal(wait.protocol())).i64(wait.step());
        }
        status.trail().write(out);
    }

    private static void write(WireWriter out, OperationRecord record) {
        RankOperation operation = record.operation();
        out.i64(record.fingerprint()).i32(operation.rank()).i64(operation.sequence());
        out.u8(operation.state().ordinal()).u8(ordinal(operation.collective())).u8(ordinal(operation.type()));
        out.u8(ordinal(operation.op())).i64(operation.count()).i32(operation.root());
    }

    private static int ordinal(Enum<?> constant) {
        return constant == null ? NONE : constant.ordinal();
    }

    static RankStatus readStatus(WireReader in, int size) {
        int rank = in.i32In("rank", 0, size - 1);
        RankStatus.State state = in.constant(RankStatus.State.class);
        LastEntered lastEntered = LastEntered.read(in);
        Optional<OperationRecord> operation = in.flag() ? Optional.of(readRecord(in, size)) : Optional.empty();
        int n = in.u8();
        if (n > MAX_WAITS) {
            throw new WireException("waits=" + n + ": expected at most " + MAX_WAITS);
        }
        List<ChannelWait> waits = new ArrayList<>(n);
        for (int i = 0; i < n; i++) {
            waits.add(readWait(in, size));
        }
        return new RankStatus(rank, state, lastEntered, operation, waits, Trail.read(in));
    }

    private static ChannelWait readWait(WireReader in, int size) {
        int rank = in.i32In("rank", 0, size - 1);
        int channel = in.i32();
        int peer = in.i32In("peer", -1, size - 1);
        TransportKind transport = in.constant(TransportKind.class);
        boolean receiving = in.flag();
        return new ChannelWait(rank, channel, peer, transport, receiving, in.constant(Protocol.class), in.i64());
    }

    private static OperationRecord readRecord(WireReader in, int size) {
        long fingerprint = in.i64();
        int rank = in.i32In("rank", 0, size - 1);
        long sequence = in.i64();
        RankOperation.State state = in.constant(RankOperation.State.class);
        Collective collective = in.constantOrNull(Collective.class);
        DataType type = in.constantOrNull(DataType.class);
        ReduceOp op = in.constantOrNull(ReduceOp.class);
        long count = in.i64();
        int root = in.i32();
        return new OperationRecord(
                fingerprint, new RankOperation(rank, sequence, state, collective, type, op, count, root));
    }

    static byte[] encode(FailureReport report) {
        WireWriter out = new WireWriter();
        out.u8(report.kind().ordinal()).i64(report.sequence()).i32(report.reporter());
        out.ranks(report.failedRanks())
                .ranks(report.missingRanks())
                .i32(report.rows().size());
        report.rows().forEach(row -> write(out, row));
        return out.text(report.text(), MAX_TEXT).toBytes();
    }

    static FailureReport decodeFailure(WireReader in, int size) {
        FailureReport.Kind kind = in.constant(FailureReport.Kind.class);
        long sequence = in.i64();
        int reporter = in.i32In("reporter", -1, size - 1);
        SortedSet<Integer> failed = in.ranks(size);
        SortedSet<Integer> missing = in.ranks(size);
        int n = in.i32In("rows", 0, size);
        List<RankStatus> rows = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            rows.add(readStatus(in, size));
        }
        String text = in.text(MAX_TEXT);
        in.end();
        return new FailureReport(kind, sequence, reporter, failed, missing, rows, text);
    }
}
