package io.jccl.transport;

import io.jccl.PeerTransport;
import io.jccl.TransportException;
import io.jccl.TransportKind;
import io.jccl.nativelib.NativeCommunicator;
import io.jccl.nativelib.NativeEngine;
import java.util.List;
import java.util.Optional;

/** Probes and makes the connections of one native engine. */
public final class EngineConnections implements TransportSelector.Probe {

    private final NativeEngine engine;

    /** For an engine that is not connected yet. */
    public EngineConnections(NativeEngine engine) {
        this.engine = engine;
    }

    @Override
    public Optional<String> obstacle(TransportKind kind, PeerIdentity peer) {
        int status = NativeCommunicator.probe(engine.handle(), peer.rank(), kind.ordinal(), peer.connectInfo());
        return status == NativeCommunicator.OK
                ? Optional.empty()
                : Optional.of(engine.lastError() + " (status=" + status + ")");
    }

    /**
     * Connects to every peer by its transport.
     *
     * @param transports the agreed transports
     * @param peers all ranks, by rank
     * @throws TransportException if a connection cannot be made
     */
    public void connect(List<PeerTransport> transports, List<PeerIdentity> peers) {
        for (PeerTransport one : transports) {
            PeerIdentity peer = peers.get(one.peer());
            int status = NativeCommunicator.connect(
                    engine.handle(), one.peer(), one.kind().ordinal(), peer.connectInfo());
            if (status != NativeCommunicator.OK) {
                throw new TransportException(
                        "peer=" + one.peer() + " transport=" + one.kind().label() + " status=" + status
                                + ": cannot connect: " + engine.lastError() + "; force another with JCCL_TRANSPORT");
            }
        }
    }

    /**
     * Throws if a step of connecting failed.
     *
     * @param step what was tried, for the message
     * @param status what the engine returned
     */
    public static void require(NativeEngine engine, String step, int status) {
        if (status != NativeCommunicator.OK) {
            throw new TransportException(step + " status=" + status + ": " + engine.lastError());
        }
    }
}
