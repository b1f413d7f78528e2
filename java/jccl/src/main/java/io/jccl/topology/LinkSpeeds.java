package io.jccl.topology;

import java.util.Arrays;
import java.util.Comparator;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;

/**
 * Tables of usable link bandwidths in GB/s, one row per kind of hardware. A value is what the link carries after
 * encoding and packet headers, not the figure of its data sheet. The NVLink, PCI and inter-socket rows are the values
 * that NCCL 2.30 uses, so that plans can be compared; they were checked against NCCL's output for 46 hosts. The GPU
 * memory rows come from data sheets and have not been measured here.
 */
public final class LinkSpeeds {

    /** Bandwidth of a link inside one device; higher than that of any other link. */
    public static final double LOCAL_GBPS = 5000;

    /** Assumed speed of a network whose speed is unknown: 10 Gb/s, which any server has at least. */
    public static final int UNKNOWN_NET_MBPS = 10_000;

    /**
     * Estimated copy bandwidth of one rank in host memory in GB/s: what one core of a server reads and writes with
     * ordinary stores. Used only to compare paths; the cost model predicts times.
     */
    public static final double HOST_MEMORY_GBPS = 12;

    /** Assumed number of lanes if the link width is unknown: that of a full slot. */
    private static final int FULL_SLOT_LANES = 16;

    private enum NvLink {
        /** Unknown capability: assumes the most common rate. */
        UNKNOWN(0, 20.0),
        /** Pascal, NVLink 1; nominally 20 GB/s. */
        SM60(60, 18.0),
        /** Volta, NVLink 2; nominally 25 GB/s. */
        SM70(70, 20.0),
        /** Ampere A100, NVLink 3; nominally 25 GB/s. */
        SM80(80, 20.0),
        /** Ampere GA10x, NVLink 3 at half width; nominally 14 GB/s. */
        SM86(86, 12.0),
        /** After GA10x; the same rate as A100. */
        SM87(87, 20.0),
        /** Hopper, NVLink 4; nominally 25 GB/s. */
        SM90(90, 20.6),
        /** Blackwell, NVLink 5; nominally 50 GB/s. */
        SM100(100, 40.1);

        private final int fromSm;
        private final double gbps;

        NvLink(int fromSm, double gbps) {
            this.fromSm = fromSm;
            this.gbps = gbps;
        }
    }

    /**
     * GPU memory bandwidth from data sheets, in GB/s. If products of one compute capability differ, the data-centre
     * product is used.
     */
    private enum DeviceMemory {
        /** Unknown capability: assumes the slowest. */
        UNKNOWN(0, 320),
        /** P100, HBM2. */
        SM60(60, 732),
        /** P40, GDDR5. */
        SM61(61, 346),
        /** V100, HBM2. */
        SM70(70, 900),
        /** T4, GDDR6. */
        SM75(75, 320),
        /** A100 with 40 GB of HBM2. The 80 GB product has 2039 GB/s. */
        SM80(80, 1555),
        /** A10, GDDR6. A40 has 696 GB/s. */
        SM86(86, 600),
        /** L40S, GDDR6. L4 has 300 GB/s. */
        SM89(89, 864),
        /** H100 SXM, HBM3. H200 has 4800 GB/s. */
        SM90(90, 3350),
        /** B200, HBM3e. */
        SM100(100, 8000),
        /** RTX PRO 6000, GDDR7. */
        SM120(120, 1792);

        private final int fromSm;
        private final double gbps;

        DeviceMemory(int fromSm, double gbps) {
            this.fromSm = fromSm;
            this.gbps = gbps;
        }
    }

    private enum PciGeneration {
        /** 2.5 GT/s, 8b/10b. */
        GEN1(2.5, 0.1875),
        /** 5 GT/s, 8b/10b. */
        GEN2(5, 0.375),
        /** 8 GT/s, 128b/130b. */
        GEN3(8, 0.75),
        /** 16 GT/s. */
        GEN4(16, 1.5),
        /** 32 GT/s. */
        GEN5(32, 3.0),
        /** 64 GT/s, PAM4 with FLITs. */
        GEN6(64, 6.0);

        private final double gigatransfers;
        private final double gbpsPerLane;

        PciGeneration(double gigatransfers, double gbpsPerLane) {
            this.gigatransfers = gigatransfers;
            this.gbpsPerLane = gbpsPerLane;
        }
    }

    /**
     * Links between two NUMA nodes. A row of a vendor applies from its model number up to the next row of the vendor.
     */
    private enum InterSocket {
        /** POWER9, X bus; nominally 64 GB/s. */
        POWER("ppc64", "", -1, -1, 32),
        /** Any ARM server. Paths of NVIDIA Grace are rated by its chip-to-chip links. */
        ARM("arm64", "", -1, -1, 6),
        /** Zen, Infinity Fabric between sockets. */
        AMD("x86_64", "AuthenticAMD", -1, -1, 16),
        /** Up to Broadwell, QPI; nominally 19.2 GB/s. */
        INTEL_QPI("x86_64", "GenuineIntel", -1, -1, 6),
        /** From Skylake on, UPI at 10.4 GT/s; nominally 20.8 GB/s. */
        INTEL_SKYLAKE("x86_64", "GenuineIntel", 6, 0x55, 10),
        /** From Sapphire Rapids on, UPI at 16 GT/s; nominally 32 GB/s. */
        INTEL_SAPPHIRE_RAPIDS("x86_64", "GenuineIntel", 6, 0x8F, 22),
        /** From Emerald Rapids on, UPI at 20 GT/s; nominally 40 GB/s. */
        INTEL_EMERALD_RAPIDS("x86_64", "GenuineIntel", 6, 0xCF, 40),
        /** Zhaoxin with the vendor name of VIA. */
        ZHAOXIN("x86_64", "CentaurHauls", -1, -1, 6),
        /** Zhaoxin with its own vendor name, ZPI. */
        ZHAOXIN_SHANGHAI("x86_64", "Shanghai", -1, -1, 6),
        /** From Yongfeng on, ZPI 2. */
        ZHAOXIN_YONGFENG("x86_64", "Shanghai", 7, 0x5B, 9);

        private final String arch;
        private final String vendor;
        private final int family;
        private final int fromModel;
        private final double gbps;

        InterSocket(String arch, String vendor, int family, int fromModel, double gbps) {
            this.arch = arch;
            this.vendor = vendor;
            this.family = family;
            this.fromModel = fromModel;
            this.gbps = gbps;
        }

        private boolean fits(CpuModel cpu) {
            return arch.equals(canonicalArch(cpu.arch()))
                    && vendor.equals(vendor.isEmpty() ? "" : cpu.vendor().trim())
                    && (family < 0 || family == cpu.family())
                    && fromModel <= cpu.model();
        }
    }

    /** Bandwidth assumed for an unknown processor: that of the slowest known link. */
    private static final double UNKNOWN_INTER_SOCKET_GBPS = 6;

    private LinkSpeeds() {}

    /** Returns the bandwidth of one NVLink of a GPU with this compute capability (times ten). */
    public static double nvLink(int sm) {
        return last(NvLink.values(), row -> row.fromSm, sm, NvLink.UNKNOWN).gbps;
    }

    /**
     * Returns the copy bandwidth inside the memory of a GPU with this compute capability (times ten). It is half of the
     * memory bandwidth, because every byte is read and written. All ranks on the GPU share it.
     */
    public static double deviceMemory(int sm) {
        return last(DeviceMemory.values(), row -> row.fromSm, sm, DeviceMemory.UNKNOWN).gbps / 2;
    }

    /**
     * Returns the bandwidth of a PCI link.
     *
     * @param speed the transfer rate as the kernel spells it: "8 GT/s", "16.0 GT/s PCIe"; any other text counts as 8
     *     GT/s
     * @param lanes the link width; 0 or less means unknown and counts as 16
     */
    public static double pci(String speed, int lanes) {
        OptionalDouble rate = gigatransfers(speed);
        PciGeneration generation = rate.isPresent()
                ? last(PciGeneration.values(), row -> row.gigatransfers, rate.getAsDouble(), PciGeneration.GEN1)
                : PciGeneration.GEN3;
        return generation.gbpsPerLane * (lanes > 0 ? lanes : FULL_SLOT_LANES);
    }

    /**
     * Returns the row with the largest start that is at most {@code value}; {@code none} if every row starts higher.
     */
    private static <R> R last(R[] rows, ToDoubleFunction<R> from, double value, R none) {
        return Arrays.stream(rows)
                .filter(row -> from.applyAsDouble(row) <= value)
                .max(Comparator.comparingDouble(from))
                .orElse(none);
    }

    /** Returns the transfer rate in GT/s from the kernel's spelling; empty if the text contains no rate. */
    public static OptionalDouble gigatransfers(String speed) {
        String text = speed == null ? "" : speed.stripLeading();
        int end = Ascii.endOfDigits(text, 0);
        if (end > 0 && text.startsWith(".", end) && Ascii.endOfDigits(text, end + 1) > end + 1) {
            end = Ascii.endOfDigits(text, end + 1);
        }
        return end > 0 && text.substring(end).stripLeading().startsWith("GT/s")
                ? OptionalDouble.of(Double.parseDouble(text.substring(0, end)))
                : OptionalDouble.empty();
    }

    /** Returns the bandwidth between two NUMA nodes of a host with this processor. */
    public static double interSocket(CpuModel cpu) {
        return Arrays.stream(InterSocket.values())
                .filter(row -> row.fits(cpu))
                .max(Comparator.comparingInt(row -> row.fromModel))
                .map(row -> row.gbps)
                .orElse(UNKNOWN_INTER_SOCKET_GBPS);
    }

    /** Returns true if the processor is one of AMD. */
    static boolean isAmd(CpuModel cpu) {
        return InterSocket.AMD.fits(cpu);
    }

    /** Returns the bandwidth of a network device; a speed of 0 or less means unknown. */
    public static double network(int mbps) {
        return (mbps > 0 ? mbps : UNKNOWN_NET_MBPS) / 8000.0;
    }

    /** Returns the bandwidth of all chip-to-chip links together, from the rate of one link in MB/s and their number. */
    public static double chipToChip(double mbps, int count) {
        return mbps * count / 1000.0;
    }

    private static String canonicalArch(String arch) {
        return switch (arch) {
            case "aarch64" -> "arm64";
            case "ppc64le" -> "ppc64";
            case "amd64" -> "x86_64";
            default -> arch;
        };
    }
}
