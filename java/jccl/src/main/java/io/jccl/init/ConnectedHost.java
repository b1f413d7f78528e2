package io.jccl.init;

import io.jccl.PeerTransport;
import io.jccl.nativelib.NativeEngine;
import io.jccl.planning.Plan;
import io.jccl.tuning.ChoiceTable;
import java.util.List;

/**
 * The part of an initialised communicator that executes operations on host memory.
 *
 * @param engine the engine, connected, with rings and trees set
 * @param plan the rings and trees of all ranks
 * @param choices how each operation is executed
 * @param transports the transport to each peer, in rank order
 */
public record ConnectedHost(NativeEngine engine, Plan plan, ChoiceTable choices, List<PeerTransport> transports) {}
