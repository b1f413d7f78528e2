package io.jccl.device;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The GPUs of a host as its management library, or a test in its place, reports them.
 *
 * @param available whether a library answered; a host may have GPUs where none did
 * @param source what answered, or was to answer
 * @param gpus those that this process may see, in the library's order
 * @param remarks why something is not known, one reason each
 */
public record GpuInventory(boolean available, String source, List<Gpu> gpus, List<String> remarks) {

    private static final long UNKNOWN = -1;

    /** What is at the other end of an NVLink. */
    public enum LinkEnd {
        /** A GPU. */
        GPU,
        /** A processor that speaks NVLink. */
        CPU,
        /** A switch. */
        SWITCH,
        /** The library does not say. */
        UNKNOWN
    }

    /** Whether a GPU may read and write another's memory. */
    public enum PeerAccess {
        /** It may. */
        YES,
        /** It may not. */
        NO,
        /** The library does not say. */
        UNKNOWN
    }

    /**
     * An NVLink that is up.
     *
     * @param number among the links of its GPU
     * @param end what is at the other end
     * @param busId of the other end, such as {@code 0000:c1:00.0}; empty where the library does not say
     */
    public record NvLink(int number, LinkEnd end, Optional<String> busId) {}

    /**
     * A GPU.
     *
     * @param index its number in the library's order
     * @param busId as the kernel spells it, such as {@code 0000:07:00.0}
     * @param sm compute capability times ten, -1 where not known
     * @param mig whether it is divided into instances; empty where it cannot be, or where that is not known
     * @param c2cLinks links to its own processor that are up
     * @param c2cMegabytesPerSecond the rate of one of them
     * @param nvLinks NVLinks that are up and carry memory traffic
     * @param peers access to the GPU at each place of the inventory
     */
    public record Gpu(
            int index,
            String busId,
            int sm,
            Optional<Boolean> mig,
            int c2cLinks,
            int c2cMegabytesPerSecond,
            List<NvLink> nvLinks,
            List<PeerAccess> peers) {

        /** Takes copies. */
        public Gpu {
            nvLinks = List.copyOf(nvLinks);
            peers = List.copyOf(peers);
        }
    }

    /** Takes copies. */
    public GpuInventory {
        gpus = List.copyOf(gpus);
        remarks = List.copyOf(remarks);
    }

    /** No library answered. */
    public static GpuInventory absent(String source, List<String> reasons) {
        return new GpuInventory(false, source, List.of(), reasons);
    }

    /**
     * An inventory from numbers in the layout of {@code native/nvml/nvml_report.h}.
     *
     * @throws IllegalArgumentException if they are not in that layout
     */
    public static GpuInventory decode(String source, long[] numbers, List<String> remarks) {
        Cursor cursor = new Cursor(numbers);
        int count = cursor.count();
        List<Gpu> gpus = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            gpus.add(gpu(cursor));
        }
        cursor.requireEnd();
        return new GpuInventory(true, source, gpus, remarks);
    }

    private static Gpu gpu(Cursor cursor) {
        int index = cursor.count();
        String busId = busId(cursor.next())
                .orElseThrow(() -> new IllegalArgumentException("gpu=" + index + ": expected a bus id"));
        int sm = (int) cursor.next();
        long mig = cursor.next();
        int c2cLinks = cursor.count();
        int c2cSpeed = cursor.count();
        int links = cursor.count();
        int peers = cursor.count();
        List<NvLink> nvLinks = new ArrayList<>();
        for (int i = 0; i < links; i++) {
            nvLinks.add(new NvLink(cursor.count(), end(cursor.next()), busId(cursor.next())));
        }
        List<PeerAccess> access = new ArrayList<>();
        for (int i = 0; i < peers; i++) {
            long status = cursor.next();
            access.add(status == UNKNOWN ? PeerAccess.UNKNOWN : status == 0 ? PeerAccess.YES : PeerAccess.NO);
        }
        Optional<Boolean> divided = mig == UNKNOWN ? Optional.empty() : Optional.of(mig != 0);
        return new Gpu(index, busId, sm, divided, c2cLinks, c2cSpeed, nvLinks, access);
    }

    private static LinkEnd end(long type) {
        return type >= 0 && type < LinkEnd.UNKNOWN.ordinal() ? LinkEnd.values()[(int) type] : LinkEnd.UNKNOWN;
    }

    private static Optional<String> busId(long packed) {
        return packed < 0
                ? Optional.empty()
                : Optional.of(String.format(
                        "%04x:%02x:%02x.%x", packed >> 20, packed >> 12 & 0xff, packed >> 4 & 0xff, packed & 0xf));
    }

    /** Walks over the numbers and refuses to leave them. */
    private static final class Cursor {
        private final long[] numbers;
        private int at;

        Cursor(long[] numbers) {
            this.numbers = numbers;
        }

        long next() {
            if (at == numbers.length) {
                throw new IllegalArgumentException("numbers=" + at + ": expected more");
            }
            return numbers[at++];
        }

        int count() {
            long value = next();
            if (value < 0 || value > Integer.MAX_VALUE) {
                throw new IllegalArgumentException("place=" + (at - 1) + " value=" + value + ": expected a count");
            }
            return (int) value;
        }

        void requireEnd() {
            if (at != numbers.length) {
                throw new IllegalArgumentException("numbers=" + numbers.length + ": expected " + at);
            }
        }
    }
}
