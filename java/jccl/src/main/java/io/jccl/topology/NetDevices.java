package io.jccl.topology;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/** Reads network devices from the kernel. */
final class NetDevices {

    private static final String CLASS = "sys/class/net/";
    /** ARPHRD_LOOPBACK in the kernel's if_arp.h. */
    private static final String TYPE_LOOPBACK = "772";
    /** Name prefixes of devices that lead only to other programs of this host. */
    private static final List<String> INTERNAL =
            List.of("docker veth virbr vnet br- ifb dummy tap tun cni flannel sit ip6tnl gre teql".split(" "));

    private final SystemFiles files;
    private final PciDevices pci;

    /**
     * A network device.
     *
     * @param name its name
     * @param mbps its speed in Mb/s, 0 if unknown
     * @param state up, down, unknown, or empty
     * @param driver its driver, empty if unknown
     * @param virtual whether it is not backed by hardware of this host
     * @param master the device of which it is a part, such as a bond; empty if it is no part
     * @param chain bus ids from the root port to the card, empty if it is not on PCI
     */
    record Device(
            String name, int mbps, String state, String driver, boolean virtual, String master, List<String> chain)
            implements Comparable<Device> {

        @Override
        public int compareTo(Device other) {
            return compare(chain, name, other.chain, other.name);
        }

        /** Returns true if the kernel reports that the device cannot carry traffic now. */
        boolean isDown() {
            return state.equals("down") || state.equals("lowerlayerdown") || state.equals("notpresent");
        }

        boolean isInternal() {
            return virtual && hasPrefix(name, INTERNAL);
        }
    }

    NetDevices(SystemFiles files, PciDevices pci) {
        this.files = files;
        this.pci = pci;
    }

    /** Returns all devices except the loopback: first those on PCI in the order of their bus ids, then the others. */
    List<Device> list() {
        List<Device> devices = new ArrayList<>();
        for (String name : files.names("sys/class/net")) {
            boolean loopback = name.equals("lo") || file(name, "type").equals(Optional.of(TYPE_LOOPBACK));
            if (!loopback && Ascii.isWord(name, 64) && file(name, "type").isPresent()) {
                devices.add(device(name));
            }
        }
        Collections.sort(devices);
        return devices;
    }

    /** Returns the bus ids from the root port to the card with this path in sysfs; empty if the card is not on PCI. */
    List<String> chainOf(String path) {
        return path.isEmpty() ? List.of() : pci.busIdsIn(files.realPath(path).orElse(path));
    }

    /** Compares two devices: devices on PCI come first, by bus id; the others by name. */
    static int compare(List<String> chain, String name, List<String> otherChain, String otherName) {
        if (chain.isEmpty() != otherChain.isEmpty()) {
            return chain.isEmpty() ? 1 : -1;
        }
        int byBusId = chain.isEmpty() ? 0 : last(chain).compareTo(last(otherChain));
        return byBusId != 0 ? byBusId : name.compareTo(otherName);
    }

    private static String last(List<String> chain) {
        return chain.get(chain.size() - 1);
    }

    private static boolean hasPrefix(String name, List<String> prefixes) {
        for (String prefix : prefixes) {
            if (name.startsWith(prefix)) {
                return true;
            }
        }
        return false;
    }

    private Device device(String name) {
        String path = files.realPath(CLASS + name).orElse("");
        return new Device(
                name,
                Math.max(0, PciDevices.integer(file(name, "speed").orElse(""))),
                file(name, "operstate").orElse(""),
                nameAt(CLASS + name + "/device/driver"),
                path.contains("/devices/virtual/"),
                nameAt(CLASS + name + "/master"),
                pci.busIdsIn(path));
    }

    /** Returns the name of a symbolic link's target, or an empty text. */
    private String nameAt(String link) {
        String real = files.realPath(link).orElse("");
        return Ascii.printable(real.substring(real.lastIndexOf('/') + 1), false);
    }

    private Optional<String> file(String device, String name) {
        return files.line(CLASS + device + "/" + name);
    }
}
