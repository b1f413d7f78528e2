package mpi;

import io.jccl.Communicator;
import io.jccl.MessageStatus;
import io.jccl.Messages;
import io.jccl.Work;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Messages between the processes of a communicator. */
abstract class PointToPoint {

    /** Returns the library's communicator, if this one is not null. */
    abstract Communicator comm() throws MPIException;

    /** Calls the library. */
    static <T> T call(Supplier<T> call) throws MPIException {
        try {
            return call.get();
        } catch (RuntimeException e) {
            throw MPIException.of(e);
        }
    }

    /** Starts a call of the library. */
    static Request start(Request.Completion completion, Supplier<Work> call) throws MPIException {
        return new Request(call(call), completion);
    }

    private Messages messages() throws MPIException {
        return comm().messages();
    }

    /** Sends a message. */
    public void send(Object buffer, int count, Datatype type, int to, int tag) throws MPIException {
        if (to == MPI.PROC_NULL) {
            return;
        }
        Region region = Region.of(buffer, 0, count, type);
        try {
            messages().send(to, tag, region.data());
        } catch (RuntimeException e) {
            throw MPIException.of(e);
        }
    }

    /** Starts to send a message. */
    public Request iSend(Object buffer, int count, Datatype type, int to, int tag) throws MPIException {
        return isend(Region.of(buffer, 0, count, type), to, tag);
    }

    private Request isend(Region region, int to, int tag) throws MPIException {
        Messages messages = messages();
        return isend(to, () -> messages.sendAsync(to, tag, region.data()));
    }

    private static Request isend(int to, Supplier<Work> send) throws MPIException {
        return to == MPI.PROC_NULL ? new Request(null, () -> {}) : start(() -> {}, send);
    }

    /** Sends a copy of a message, and does not wait for its receive. */
    public void bSend(Object buffer, int count, Datatype type, int to, int tag) throws MPIException {
        ibSend(buffer, count, type, to, tag);
    }

    /** Like {@link #bSend}. */
    public Request ibSend(Object buffer, int count, Datatype type, int to, int tag) throws MPIException {
        isend(Region.copyOf(buffer, 0, count, type), to, tag);
        return new Request(null, () -> {});
    }

    /** Sends a message whose receive has been started. */
    public void rSend(Object buffer, int count, Datatype type, int to, int tag) throws MPIException {
        send(buffer, count, type, to, tag);
    }

    /** Starts to send a message whose receive has been started. */
    public Request irSend(Object buffer, int count, Datatype type, int to, int tag) throws MPIException {
        return iSend(buffer, count, type, to, tag);
    }

    /** Sends a message, and waits until a receive has matched it. */
    public void sSend(Object buffer, int count, Datatype type, int to, int tag) throws MPIException {
        isSend(buffer, count, type, to, tag).waitFor();
    }

    /** Starts to send a message. The request ends only once a receive has matched the message. */
    public Request isSend(Object buffer, int count, Datatype type, int to, int tag) throws MPIException {
        Region region = Region.of(buffer, 0, count, type);
        Messages messages = messages();
        return isend(to, () -> messages.sendMatchedAsync(to, tag, region.data()));
    }

    /** Receives a message, which may be shorter than the buffer. */
    public Status recv(Object buffer, int count, Datatype type, int from, int tag) throws MPIException {
        return iRecv(buffer, count, type, from, tag).waitStatus();
    }

    /** Starts to receive a message. */
    public Request iRecv(Object buffer, int count, Datatype type, int from, int tag) throws MPIException {
        Region region = Region.of(buffer, 0, count, type);
        if (from == MPI.PROC_NULL) {
            return new Request(null, () -> {}).with(nobody());
        }
        Messages messages = messages();
        return Request.of(call(() -> messages.receiveAsync(from, tag, region.data())), region::received);
    }

    private static Status nobody() {
        return new Status(MPI.PROC_NULL, MPI.ANY_TAG, 0, false, 0);
    }

    /** Sends one message and receives another at the same time. */
    public Status sendRecv(
            Object send,
            int sendCount,
            Datatype sendType,
            int to,
            int sendTag,
            Object recv,
            int recvCount,
            Datatype recvType,
            int from,
            int recvTag)
            throws MPIException {
        Request received = iRecv(recv, recvCount, recvType, from, recvTag);
        send(send, sendCount, sendType, to, sendTag);
        return received.waitStatus();
    }

    /** Sends a message and puts another in its place. */
    public Status sendRecvReplace(Object buffer, int count, Datatype type, int to, int sendTag, int from, int recvTag)
            throws MPIException {
        Request sent = isend(Region.copyOf(buffer, 0, count, type), to, sendTag);
        Status status = recv(buffer, count, type, from, recvTag);
        sent.waitFor();
        return status;
    }

    /** Waits for a message that {@link #recv} would receive. */
    public Status probe(int from, int tag) throws MPIException {
        if (from == MPI.PROC_NULL) {
            return nobody();
        }
        Messages messages = messages();
        return status(call(() -> messages.probe(from, tag)));
    }

    /** Returns null if there is no message that {@link #recv} would receive. */
    public @Nullable Status iProbe(int from, int tag) throws MPIException {
        if (from == MPI.PROC_NULL) {
            return nobody();
        }
        Messages messages = messages();
        Optional<MessageStatus> found = call(() -> messages.tryProbe(from, tag));
        return found.isPresent() ? status(found.get()) : null;
    }

    private static Status status(MessageStatus found) {
        return new Status(found.source(), found.tag(), found.bytes(), false, 0);
    }

    /** Returns a send that can be started several times. */
    public Prequest sendInit(Object buffer, int count, Datatype type, int to, int tag) {
        return new Prequest(() -> iSend(buffer, count, type, to, tag));
    }

    /** Returns a {@link #bSend} that can be started several times. */
    public Prequest bSendInit(Object buffer, int count, Datatype type, int to, int tag) {
        return new Prequest(() -> ibSend(buffer, count, type, to, tag));
    }

    /** Returns a {@link #rSend} that can be started several times. */
    public Prequest rSendInit(Object buffer, int count, Datatype type, int to, int tag) {
        return sendInit(buffer, count, type, to, tag);
    }

    /** Returns an {@link #sSend} that can be started several times. */
    public Prequest sSendInit(Object buffer, int count, Datatype type, int to, int tag) {
        return new Prequest(() -> isSend(buffer, count, type, to, tag));
    }

    /** Returns a receive that can be started several times. */
    public Prequest recvInit(Object buffer, int count, Datatype type, int from, int tag) {
        return new Prequest(() -> iRecv(buffer, count, type, from, tag));
    }
}
