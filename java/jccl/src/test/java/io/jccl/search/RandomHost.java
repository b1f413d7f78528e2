package io.jccl.search;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Draws host descriptions from a seed: sockets of several makers, nested PCI switches, GPUs with NVLinks to each other,
 * to switches or without NVLinks, and network devices in unusual places, some of which share a port.
 */
public final class RandomHost {

    private static final String[] CPUS = {
        "arch='x86_64' vendor='GenuineIntel' familyid='6' modelid='85'",
        "arch='x86_64' vendor='GenuineIntel' familyid='6' modelid='143'",
        "arch='x86_64' vendor='AuthenticAMD' familyid='25' modelid='17'",
        "arch='x86_64' vendor='  Shanghai  ' familyid='7' modelid='91'",
        "arch='arm64'",
        "arch='ppc64'"
    };
    private static final int[] SMS = {60, 70, 80, 86, 90, 100, 120};
    private static final int[] SPEEDS = {1000, 10000, 25000, 100000, 200000, 400000, 800000};
    private static final String[] PCI_SPEEDS = {"2.5 GT/s", "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe"};

    private final Random random;
    private final Random limits;
    private final boolean scarce;
    private final StringBuilder xml = new StringBuilder();
    private final int gpus;
    private final int sm;
    private final boolean switched;
    private final int[][] nvLinks;
    private int nextBus = 1;
    private int nextGpu;
    private int nextNet;

    private RandomHost(long seed, int maxGpus, boolean scarce) {
        random = new Random(seed);
        limits = new Random(~seed);
        this.scarce = scarce;
        gpus = 1 + random.nextInt(maxGpus);
        sm = SMS[random.nextInt(SMS.length)];
        switched = random.nextInt(4) == 0;
        nvLinks = new int[gpus][gpus];
        if (!switched && random.nextBoolean()) {
            for (int link = random.nextInt(2 * gpus); link > 0; link--) {
                int one = random.nextInt(gpus);
                int other = random.nextInt(gpus);
                if (one != other) {
                    int count = 1 + random.nextInt(3);
                    nvLinks[one][other] = count;
                    nvLinks[other][one] = count;
                }
            }
        }
    }

    /** Returns a description with 1 to {@code maxGpus} GPUs. Equal seeds give equal descriptions. */
    public static String description(long seed, int maxGpus) {
        return new RandomHost(seed, maxGpus, false).describe();
    }

    /** Returns the host of {@link #description}, but with network devices that allow 0 to 4 channels each. */
    static String scarceDescription(long seed, int maxGpus) {
        return new RandomHost(seed, maxGpus, true).describe();
    }

    private String describe() {
        int sockets = 1 + random.nextInt(4);
        String cpu = CPUS[random.nextInt(CPUS.length)];
        List<List<String>> devices = new ArrayList<>();
        for (int socket = 0; socket < sockets; socket++) {
            devices.add(new ArrayList<>());
        }
        for (int gpu = 0; gpu < gpus; gpu++) {
            devices.get(random.nextInt(sockets)).add("gpu");
        }
        for (int net = random.nextInt(gpus + 3); net > 0; net--) {
            devices.get(random.nextInt(sockets)).add("net");
        }
        xml.append("<system version='1'>");
        for (int socket = 0; socket < sockets; socket++) {
            xml.append("<cpu numaid='").append(socket).append("' ").append(cpu).append(">");
            children(devices.get(socket), 0);
            xml.append("</cpu>");
        }
        return xml.append("</system>").toString();
    }

    /** Writes devices next to each other or behind PCI switches. */
    private void children(List<String> devices, int depth) {
        List<String> left = new ArrayList<>(devices);
        while (!left.isEmpty()) {
            if (depth < 3 && random.nextInt(3) > 0) {
                int count = 1 + random.nextInt(left.size());
                List<String> behind = new ArrayList<>(left.subList(0, count));
                left.subList(0, count).clear();
                pci("0x060400");
                children(behind, depth + 1);
                xml.append("</pci>");
            } else if (left.remove(0).equals("gpu")) {
                gpu();
            } else {
                net();
            }
        }
    }

    private String pci(String deviceClass) {
        String busId = String.format("0000:%02x:00.0", nextBus++);
        pci(busId, deviceClass);
        return busId;
    }

    private void pci(String busId, String deviceClass) {
        xml.append(String.format(
                "<pci busid='%s' class='%s' link_speed='%s' link_width='%d'>",
                busId, deviceClass, PCI_SPEEDS[random.nextInt(PCI_SPEEDS.length)], 4 << random.nextInt(3)));
    }

    /**
     * Returns the bus id of a GPU. GPUs have a separate range of ids, so that NVLinks can name GPUs that follow later.
     */
    private static String busOfGpu(int gpu) {
        return String.format("0001:%02x:00.0", gpu);
    }

    private void gpu() {
        int gpu = nextGpu++;
        pci(busOfGpu(gpu), "0x030200");
        xml.append(String.format("<gpu dev='%d' sm='%d' rank='%d' gdr='%d'>", gpu, sm, gpu, random.nextInt(2)));
        if (switched) {
            xml.append("<nvlink target='ffff:ff:ff.f' count='")
                    .append(4 + random.nextInt(15))
                    .append("' tclass='0x068000'/>");
        }
        for (int other = 0; other < gpus; other++) {
            if (nvLinks[gpu][other] > 0) {
                xml.append(String.format(
                        "<nvlink target='%s' count='%d' tclass='0x030200'/>", busOfGpu(other), nvLinks[gpu][other]));
            }
        }
        xml.append("</gpu></pci>");
    }

    private void net() {
        pci("0x020700");
        xml.append("<nic>");
        int ports = 1 + random.nextInt(2);
        for (int port = 0; port < ports; port++) {
            int dev = nextNet++;
            boolean shared = dev > 0 && random.nextInt(4) == 0;
            xml.append(String.format(
                    "<net name='n%d' dev='%d' speed='%d' port='%d' guid='0x%x' maxconn='%d' gdr='%d'/>",
                    dev,
                    dev,
                    SPEEDS[random.nextInt(SPEEDS.length)],
                    shared ? 1 : 1 + port,
                    shared ? dev : dev + 1,
                    scarce ? limits.nextInt(5) : 65536,
                    random.nextInt(2)));
        }
        xml.append("</nic></pci>");
    }
}
