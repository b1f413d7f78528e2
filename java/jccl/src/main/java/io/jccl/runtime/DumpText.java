package io.jccl.runtime;

import io.jccl.ChannelWait;
import io.jccl.JcclException;
import io.jccl.RankOperation;
import io.jccl.device.HostIdentity;
import io.jccl.init.InitializedCommunicator;
import io.jccl.wire.LastEntered;
import java.util.Collection;
import java.util.HexFormat;
import java.util.Optional;

/**
 * Writes a dump as JSON, by docs/schema/dump.schema.json. Each record has a line, so that text tools can read it, too.
 */
final class DumpText {

    private static final int VERSION = 1;

    private final JsonText json = new JsonText();
    private final int size;
    private final IssueTimes issues;

    private DumpText(int size, IssueTimes issues) {
        this.size = size;
        this.issues = issues;
    }

    static String of(
            InitializedCommunicator communicator,
            Snapshot snapshot,
            IssueTimes issues,
            Optional<JcclException> failure) {
        return new DumpText(communicator.size(), issues).text(communicator, snapshot, failure);
    }

    private String text(InitializedCommunicator communicator, Snapshot snapshot, Optional<JcclException> failure) {
        json.object();
        json.line().field("version", VERSION);
        json.line().field("communicator", communicator.id());
        json.line()
                .field(
                        "session",
                        HexFormat.of().formatHex(communicator.membership().sessionId()));
        json.line().field("rank", communicator.rank()).field("size", communicator.size());
        json.line()
                .field("host", HostIdentity.hostName())
                .field("pid", ProcessHandle.current().pid());
        json.line()
                .object("clock")
                .field("id", FlightRecorder.clock())
                .field("nanos", snapshot.nanoTime())
                .field("wall_nanos", snapshot.wallNanos())
                .endObject();
        failure.ifPresent(this::failure);
        array("operations", snapshot.operations(), one -> operation(one, true));
        array("device_operations", snapshot.deviceOperations(), one -> operation(one, false));
        array("transfers", snapshot.transfers(), this::transfers);
        array("device_transfers", snapshot.deviceTransfers(), this::transfers);
        array("waits", snapshot.waits(), this::wait);
        array("messages", snapshot.messages(), this::message);
        return json.endObjectOnItsLine() + "\n";
    }

    private interface Writer<T> {
        void write(T one);
    }

    private <T> void array(String name, Collection<T> all, Writer<T> writer) {
        json.line().array(name);
        for (T one : all) {
            json.line().object();
            writer.write(one);
            json.endObject();
        }
        json.endArray();
    }

    private void failure(JcclException failure) {
        json.line().object("failure").field("type", failure.getClass().getSimpleName());
        json.array("ranks");
        for (int rank : Failure.ranksOf(failure)) {
            json.value(rank);
        }
        json.endArray().field("text", String.valueOf(failure.getMessage())).endObject();
    }

    private void operation(RecordedOperation one, boolean onHost) {
        RankOperation operation = one.operation();
        json.field("sequence", plain(operation.sequence()));
        json.field("collective", operation.collective().label());
        if (operation.type() != null) {
            json.field("type", operation.type().label());
        }
        if (operation.op() != null) {
            json.field("op", operation.op().label());
        }
        json.field("count", operation.count());
        if (operation.collective().hasRoot()) {
            json.field("root", operation.root());
        }
        json.field("bytes", one.bytes(size));
        json.field("state", operation.state().label());
        json.field("fingerprint", HexFormat.of().toHexDigits(one.fingerprint()));
        json.field("algorithm", one.algorithm().label())
                .field("protocol", one.protocol().label());
        json.field("channels", one.channels()).field("in_place", one.inPlace());
        if (onHost && one.begunNanos() != RecordedOperation.UNKNOWN) {
            json.field("issued", issues.issued(operation.sequence(), one.begunNanos()));
        }
        times(one.begunNanos(), one.endedNanos(), one.waitedNanos(), one.waitedFor());
    }

    private static long plain(long sequence) {
        return LastEntered.plain(sequence);
    }

    private void times(long begun, long ended, long waited, int waitedFor) {
        if (begun != RecordedOperation.UNKNOWN) {
            json.field("begun", begun);
        }
        if (ended != RecordedOperation.UNKNOWN) {
            json.field("ended", ended);
        }
        if (waitedFor >= 0) {
            json.field("waited", waited).field("waited_for", waitedFor);
        }
    }

    private void transfers(RecordedTransfers one) {
        json.field("number", one.number())
                .field("after", one.after())
                .field("state", one.state().label());
        if (one.sends() > 0) {
            json.field("sends", one.sends()).field("to", one.to()).field("sent_bytes", one.sentBytes());
        }
        if (one.receives() > 0) {
            json.field("receives", one.receives()).field("from", one.from());
            json.field("received_bytes", one.receivedBytes());
        }
        times(one.begunNanos(), one.endedNanos(), one.waitedNanos(), one.waitedFor());
    }

    private void message(OutstandingMessage message) {
        json.field("call", message.call()).field("begun", message.begunNanos());
        json.field("awaited", message.isAwaited());
    }

    private void wait(ChannelWait wait) {
        json.field("channel", wait.channel()).field("peer", wait.peer());
        json.field("transport", wait.transport().label()).field("receiving", wait.receiving());
        json.field("reason", wait.waitFor().label());
        json.field("protocol", wait.protocol().label()).field("step", wait.step());
    }
}
