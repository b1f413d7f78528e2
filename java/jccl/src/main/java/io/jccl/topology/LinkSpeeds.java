package io.jccl.topology;

import java.util.Arrays;
import java.util.Comparator;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;

/**
 * Usable bandwidths of links in GB/s, one row per physical fact. They are what a link carries after encoding and packet
 * headers, not what its data sheet says. The NVLink, PCI and inter-socket rows are the values with which NCCL 2.30
 * describes the same hosts, checked against its output for 46 of them, so that plans can be compared. Those of the
 * memory of GPUs are their makers' and have not been measured here.
 */
public final class LinkSpeeds {

    /** A link inside one device: more than anything else. */
    public static final double LOCAL_GBPS = 5000;

    /** A network of unknown speed counts as 10 Gb/s: what any server has at least. */
    public static final int UNKNOWN_NET_MBPS = 10_000;

    /**
     * What one rank can copy on the host, in GB/s: an estimate of what a core of a server reads and writes with ordinary
     * stores. Paths are compared by it; times are the cost model's.
     */
    public static final double HOST_MEMORY_GBPS = 12;

    /** A lane count that is not given counts as that of a full slot. */
    private static final int FULL_SLOT_LANES = 16;

    private enum NvLink {
        /** Not known: the most frequent rate. */
        UNKNOWN(0, 20.0),
        /** Pascal, NVLink 1: 20 GB/s on paper. */
        SM60(60, 18.0),
        /** Volta, NVLink 2: 25 GB/s on paper. */
        SM70(70, 20.0),
        /** Ampere A100, NVLink 3: 25 GB/s on paper. */
        SM80(80, 20.0),
        /** Ampere GA10x, NVLink 3 at half width: 14 GB/s on paper. */
        SM86(86, 12.0),
        /** After GA10x: the rate of A100 again. */
        SM87(87, 20.0),
        /** Hopper, NVLink 4: 25 GB/s on paper. */
        SM90(90, 20.6),
        /** Blackwell, NVLink 5: 50 GB/s on paper. */
        SM100(100, 40.1);

        private final int fromSm;
        private final double gbps;

        NvLink(int fromSm, double gbps) {
            this.fromSm = fromSm;
            this.gbps = gbps;
        }
    }

    /** The memory of GPUs as their data sheets have it, GB/s. Of several parts of a capability that of data centres counts. */
    private enum DeviceMemory {
        /** Not known: as the slowest. */
        UNKNOWN(0, 320),
        /** P100, HBM2. */
        SM60(60, 732),
        /** P40, GDDR5. */
        SM61(61, 346),
        /** V100, HBM2. */
        SM70(70, 900),
        /** T4, GDDR6. */
        SM75(75, 320),
        /** A100 with 40 GB of HBM2; with 80 GB it is 2039. */
        SM80(80, 1555),
        /** A10, GDDR6; A40: 696. */
        SM86(86, 600),
        /** L40S, GDDR6; L4: 300. */
        SM89(89, 864),
        /** H100 SXM, HBM3; H200: 4800. */
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

    /** Between two NUMA nodes. Rows of one vendor start at a model and hold up to the next. */
    private enum InterSocket {
        /** POWER9, X bus: 64 GB/s on paper. */
        POWER("ppc64", "", -1, -1, 32),
        /** Any ARM server; NVIDIA's Grace is counted by its chip-to-chip links. */
        ARM("arm64", "", -1, -1, 6),
        /** Zen, Infinity Fabric between sockets. */
        AMD("x86_64", "AuthenticAMD", -1, -1, 16),
        /** Up to Broadwell, QPI: 19.2 GB/s on paper. */
        INTEL_QPI("x86_64", "GenuineIntel", -1, -1, 6),
        /** From Skylake on, UPI at 10.4 GT/s: 20.8 GB/s on paper. */
        INTEL_SKYLAKE("x86_64", "GenuineIntel", 6, 0x55, 10),
        /** From Sapphire Rapids on, UPI at 16 GT/s: 32 GB/s on paper. */
        INTEL_SAPPHIRE_RAPIDS("x86_64", "GenuineIntel", 6, 0x8F, 22),
        /** From Emerald Rapids on, UPI at 20 GT/s: 40 GB/s on paper. */
        INTEL_EMERALD_RAPIDS("x86_64", "GenuineIntel", 6, 0xCF, 40),
        /** Zhaoxin under the name of VIA. */
        ZHAOXIN("x86_64", "CentaurHauls", -1, -1, 6),
        /** Zhaoxin under its own name, ZPI. */
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

    /** An unknown processor counts as the slowest known link. */
    private static final double UNKNOWN_INTER_SOCKET_GBPS = 6;

    private LinkSpeeds() {}

    /** One NVLink of a GPU with this compute capability (times ten). */
    public static double nvLink(int sm) {
        return last(NvLink.values(), row -> row.fromSm, sm, NvLink.UNKNOWN).gbps;
    }

    /**
     * What is copied inside the memory of a GPU with this compute capability (times ten): half of what the memory does,
     * because every byte is read and written. All ranks on the GPU share it.
     */
    public static double deviceMemory(int sm) {
        return last(DeviceMemory.values(), row -> row.fromSm, sm, DeviceMemory.UNKNOWN).gbps / 2;
    }

    /**
     * A PCI link.
     *
     * @param speed as the kernel spells it: "8 GT/s", "16.0 GT/s PCIe"; anything else counts as 8 GT/s
     * @param lanes 0 or less for a width that is not known, which counts as 16
     */
    public static double pci(String speed, int lanes) {
        OptionalDouble rate = gigatransfers(speed);
        PciGeneration generation = rate.isPresent()
                ? last(PciGeneration.values(), row -> row.gigatransfers, rate.getAsDouble(), PciGeneration.GEN1)
                : PciGeneration.GEN3;
        return generation.gbpsPerLane * (lanes > 0 ? lanes : FULL_SLOT_LANES);
    }

    /** Of rows that each hold from a number on, the one that holds for {@code value}. */
    private static <R> R last(R[] rows, ToDoubleFunction<R> from, double value, R none) {
        return Arrays.stream(rows)
                .filter(row -> from.applyAsDouble(row) <= value)
                .max(Comparator.comparingDouble(from))
                .orElse(none);
    }

    /** The speed in a kernel's spelling, or empty where it says that it does not know. */
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

    /** Between two NUMA nodes of a host with this processor. */
    public static double interSocket(CpuModel cpu) {
        return Arrays.stream(InterSocket.values())
                .filter(row -> row.fits(cpu))
                .max(Comparator.comparingInt(row -> row.fromModel))
                .map(row -> row.gbps)
                .orElse(UNKNOWN_INTER_SOCKET_GBPS);
    }

    /** Whether this is a processor of AMD. */
    static boolean isAmd(CpuModel cpu) {
        return InterSocket.AMD.fits(cpu);
    }

    /** A network device; a speed of 0 or less is not known. */
    public static double network(int mbps) {
        return (mbps > 0 ? mbps : UNKNOWN_NET_MBPS) / 8000.0;
    }

    /** A chip-to-chip link: megabytes per second of one link, and how many. */
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
