package io.jccl.nvls;

import io.jccl.TransportException;
import io.jccl.internal.Causes;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.OfferedDescriptor;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The steps by which all ranks share a multicast object: rank 0 makes it, then all join it and bind memory to it. After
 * each step they agree whether all of them succeeded.
 */
final class MulticastObject {

    private static final int MAX_INFO_BYTES = 1 << 16;
    private static final int MAKER = 0;

    /** The natives of an object: see {@link NativeNvls}. */
    interface Natives {

        Optional<byte[]> create();

        Optional<String> join(byte[] info, OptionalInt descriptor);

        Optional<String> bind();
    }

    /** Exchanges a message with all ranks. Returns the messages by rank. */
    interface Gather {

        List<byte[]> apply(byte[] own);
    }

    private final DeviceEngine engine;
    private final NativeNvls nvls;
    private final List<String> processes;
    private final int rank;
    private final Gather allGather;

    /** @param processes the process of each rank, by rank */
    MulticastObject(DeviceEngine engine, NativeNvls nvls, List<String> processes, int rank, Gather allGather) {
        this.engine = engine;
        this.nvls = nvls;
        this.processes = processes;
        this.rank = rank;
        this.allGather = allGather;
    }

    /** Shares an object. Returns the failure of the lowest rank that has one; empty if all succeeded. */
    Optional<String> share(Natives natives) {
        Optional<String> failed = join(natives);
        return failed.isEmpty() ? agree(natives.bind()) : failed;
    }

    private Optional<String> join(Natives natives) {
        Optional<byte[]> info = Optional.empty();
        Optional<OfferedDescriptor> offer = Optional.empty();
        Optional<String> failed = Optional.empty();
        if (rank == MAKER) {
            info = natives.create();
            failed = info.isEmpty() ? Optional.of(engine.lastError()) : Optional.empty();
            OptionalInt descriptor = nvls.takeDescriptor();
            if (descriptor.isPresent()) {
                try {
                    offer = Optional.of(OfferedDescriptor.of(descriptor.getAsInt()));
                } catch (TransportException e) {
                    failed = Optional.of(e.getMessage());
                }
            }
        }
        try {
            byte[] wire = offer.map(OfferedDescriptor::wire).orElse(new byte[0]);
            byte[] made = allGather
                    .apply(new WireWriter()
                            .blob(failed.map(MulticastObject::bytes).orElse(new byte[0]))
                            .blob(wire)
                            .blob(info.orElse(new byte[0]))
                            .toBytes())
                    .get(MAKER);
            return agree(join(natives, made));
        } finally {
            offer.ifPresent(OfferedDescriptor::close); // each peer has fetched the descriptor or given up
        }
    }

    private Optional<String> join(Natives natives, byte[] made) {
        try {
            WireReader in = new WireReader(made);
            byte[] failed = in.blob(MAX_INFO_BYTES);
            byte[] wire = in.blob(MAX_INFO_BYTES);
            byte[] info = in.blob(MAX_INFO_BYTES);
            in.end();
            if (failed.length > 0) {
                return Optional.of(text(failed));
            }
            boolean here = processes.get(MAKER).equals(processes.get(rank));
            return natives.join(info, here ? OptionalInt.empty() : OptionalInt.of(OfferedDescriptor.fetch(wire)));
        } catch (WireException | TransportException e) {
            return Optional.of(Causes.describe(e));
        }
    }

    /** Exchanges the ranks' failures. Returns the failure of the lowest rank that has one; empty if all succeeded. */
    Optional<String> agree(Optional<String> own) {
        List<byte[]> all = allGather.apply(own.map(MulticastObject::bytes).orElse(new byte[0]));
        for (int peer = 0; peer < all.size(); peer++) {
            if (all.get(peer).length > 0) {
                return Optional.of("rank=" + peer + ": " + text(all.get(peer)));
            }
        }
        return Optional.empty();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
