package io.jccl.device;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The GPUs of a host, as reported by its management library or by a test.
 *
 * @param available true if a library answered; a host may have GPUs even if none did
 * @param source the library that answered or should have answered
 * @param gpus the GPUs that this process may see, in the library's order
 * @param remarks reasons why something is not known
 */
public record GpuInventory(boolean available, String source, List<Gpu> gpus, List<String> remarks) {

    private static final long UNKNOWN = -1;

    /** The kind of device at the other end of an NVLink. */
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

    /** The right of a GPU to read and write another GPU's memory. */
    public enum PeerAccess {
        /** The GPU may access the memory. */
        YES,
        /** The GPU may not access the memory. */
        NO,
        /** The library does not say. */
        UNKNOWN
    }

    /**
     * An NVLink that is up.
     *
     * @param number the number of the link among the links of its GPU
     * @param end the kind of device at the other end
     * @param busId the bus id of the other end, such as {@code 0000:c1:00.0}; empty if the library does not report it
     */
    public record NvLink(int number, LinkEnd end, Optional<String> busId) {}

    /**
     * One GPU.
     *
     * @param index the number of the GPU in the library's order
     * @param busId the bus id as the kernel spells it, such as {@code 0000:07:00.0}
     * @param sm compute capability times ten; -1 if not known
     * @param mig true if the GPU is divided into instances; empty if it cannot be divided, or if that is not known
     * @param c2cLinks the number of chip-to-chip links to the GPU's own processor that are up
     * @param c2cMegabytesPerSecond the rate of one chip-to-chip link
     * @param nvLinks the NVLinks that are up and carry memory traffic
     * @param peers the access to each GPU, in the order of the inventory
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

        public Gpu {
            nvLinks = List.copyOf(nvLinks);
            peers = List.copyOf(peers);
        }
    }

    public GpuInventory {
        gpus = List.copyOf(gpus);
        remarks = List.copyOf(remarks);
    }

    /** Returns the inventory of a host on which no library answered. */
    public static GpuInventory absent(String source, List<String> reasons) {
        return new GpuInventory(false, source, List.of(), reasons);
    }

    /**
     * Decodes an inventory from numbers in the layout of {@code native/nvml/nvml_report.h}.
     *
     * @throws IllegalArgumentException if the numbers are not in that layout
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

    /** Reads the numbers one after the other; throws if none is left. */
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
