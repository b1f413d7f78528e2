package io.jccl.runtime;

import io.jccl.ChannelWait;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.RankOperation;
import io.jccl.TransportKind;
import io.jccl.bootstrap.OperationRecord;
import io.jccl.bootstrap.StatusSource;
import io.jccl.nativelib.NativeEngine;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Tells the coordinator what this rank's native engine knows: its last operations, and where its channels stand still. */
final class EngineStatus implements StatusSource {

    private static final String[] STATES = {"none", "running", "done", "failed"};
    private static final int LONGS_PER_WAIT = 7;

    private final int rank;
    private final NativeEngine engine;

    EngineStatus(int rank, NativeEngine engine) {
        this.rank = rank;
        this.engine = engine;
    }

    @Override
    public long lastEntered() {
        return engine.lastEntered();
    }

    /** Reads {@code {sequence, fingerprint, signature, root, count, state}}. */
    @Override
    public Optional<OperationRecord> recordAt(long sequence) {
        long[] row = engine.history(sequence);
        if (row.length == 0) {
            return Optional.empty();
        }
        int signature = (int) row[2];
        Collective collective = Signatures.collective(signature);
        RankOperation operation = new RankOperation(
                rank,
                sequence,
                true,
                collective,
                collective == Collective.BARRIER ? null : Signatures.type(signature),
                Signatures.op(signature),
                row[4],
                (int) row[3],
                STATES[(int) row[5]]);
        long fingerprint = collective == Collective.SEND_RECV ? 0 : row[1];
        return Optional.of(new OperationRecord(fingerprint, operation));
    }

    /** Reads rows of {@code {channel, peer, transport, waitFor, protocol, step, sequence}}. */
    @Override
    public List<ChannelWait> waitingRows() {
        long[] rows = engine.waiting();
        List<ChannelWait> waits = new ArrayList<>();
        for (int at = 0; at + LONGS_PER_WAIT <= rows.length; at += LONGS_PER_WAIT) {
            waits.add(new ChannelWait(
                    rank,
                    (int) rows[at],
                    (int) rows[at + 1],
                    TransportKind.values()[(int) rows[at + 2]],
                    rows[at + 3] != 1,
                    Protocol.values()[(int) rows[at + 4]],
                    rows[at + 5]));
        }
        return waits;
    }
}
