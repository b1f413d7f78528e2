package io.jccl.pxn;

import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.NativeEngine;
import io.jccl.parts.InitContext;
import io.jccl.parts.SendForwarding;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiPredicate;
import java.util.function.IntFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The connections of one communicator that lead through GPUs of other ranks. */
final class Pxn implements SendForwarding {

    private static final Logger LOG = LoggerFactory.getLogger(Pxn.class);

    private final InitContext context;
    private final int rank;
    private Forwarding forwarding = new Forwarding(List.of());

    Pxn(InitContext context) {
        this.context = context;
        this.rank = context.rank();
    }

    @Override
    public int agree(List<Send> mine, BiPredicate<Integer, Integer> sameHost) {
        List<byte[]> answers = context.allGather(Forwarding.write(mine));
        List<Forwarding.Connection> all = new ArrayList<>();
        for (int from = 0; from < answers.size(); from++) {
            all.addAll(Forwarding.read(from, answers.get(from), context.size(), sameHost));
        }
        forwarding = new Forwarding(List.copyOf(all));
        return forwarding.count(rank);
    }

    @Override
    public void offer(DeviceEngine device, NativeEngine host) {
        if (forwarding.count(rank) > 0) {
            device.forwardedSlots().ifPresent(memory -> NativePxn.forwardFor(host, memory, forwarding.rows(rank)));
        }
    }

    @Override
    public void take(
            DeviceEngine device,
            NativeEngine host,
            IntFunction<byte[]> connectInfo,
            IntFunction<Optional<String>> obstacle) {
        for (int forwarder : forwarding.forwardersOf(rank)) {
            int[] requests = forwarding.requests(rank, forwarder);
            long address = device.forwardedSlotsOf(forwarder);
            Optional<String> reason = obstacle.apply(forwarder);
            if (reason.isPresent() || address == 0) {
                LOG.warn(
                        "rank={}: does not send through the GPU of rank={} (PXN), connections={}: {}",
                        rank,
                        forwarder,
                        requests.length / NativePxn.REQUEST_LENGTH,
                        reason.orElse("this rank does not reach its memory"));
            } else {
                NativePxn.sendThrough(
                        host, forwarder, connectInfo.apply(forwarder), forwarding.count(forwarder), address, requests);
            }
        }
    }
}
