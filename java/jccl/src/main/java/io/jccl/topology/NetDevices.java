package io.jccl.topology;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** What the kernel reports of network devices. */
final class NetDevices {

    private static final String CLASS = "sys/class/net/";
    /** ARPHRD_LOOPBACK of the kernel's if_arp.h. */
    private static final String TYPE_LOOPBACK = "772";
    /** Devices that lead only to other programs of this host. */
    private static final Pattern INTERNAL =
            Pattern.compile("(docker|veth|virbr|vnet|br-|ifb|dummy|tap|tun|cni|flannel|sit|ip6tnl|gre|teql).*");

    private final SystemFiles files;
    private final PciDevices pci;

    /**
     * A network device.
     *
     * @param name its name
     * @param mbps its speed, 0 where not known
     * @param state up, down, unknown, or empty
     * @param driver its driver, empty where not known
     * @param virtual whether no hardware of this host stands behind it
     * @param master the device that it is a part of, such as a bond; empty where there is none
     * @param chain bus ids from the root port to the card, empty where it is not on PCI
     */
    record Device(
            String name, int mbps, String state, String driver, boolean virtual, String master, List<String> chain) {

        String busId() {
            return chain.isEmpty() ? "" : chain.get(chain.size() - 1);
        }

        /** Whether the kernel says that it cannot carry anything now. */
        boolean isDown() {
            return state.equals("down") || state.equals("lowerlayerdown") || state.equals("notpresent");
        }

        boolean isInternal() {
            return virtual && INTERNAL.matcher(name).matches();
        }
    }

    NetDevices(SystemFiles files, PciDevices pci) {
        this.files = files;
        this.pci = pci;
    }

    /** All devices but the loopback, those on PCI first, in the order of their bus ids. */
    List<Device> list() {
        List<Device> devices = new ArrayList<>();
        for (String name : files.names("sys/class/net")) {
            boolean loopback = name.equals("lo") || file(name, "type").equals(Optional.of(TYPE_LOOPBACK));
            if (!loopback
                    && name.matches("[\\x21-\\x7e]{1,64}")
                    && file(name, "type").isPresent()) {
                devices.add(device(name));
            }
        }
        devices.sort(Comparator.comparing((Device device) -> device.chain().isEmpty())
                .thenComparing(Device::busId)
                .thenComparing(Device::name));
        return devices;
    }

    private Device device(String name) {
        Optional<String> path = files.realPath(CLASS + name);
        int mbps = file(name, "speed").map(PciDevices::integer).orElse(0);
        boolean virtual = path.map(real -> real.contains("/devices/virtual/")).orElse(false);
        return new Device(
                name,
                Math.max(0, mbps),
                file(name, "operstate").orElse(""),
                nameAt(CLASS + name + "/device/driver"),
                virtual,
                nameAt(CLASS + name + "/master"),
                path.map(pci::busIdsIn).orElse(List.of()));
    }

    /** The name of what a link leads to, or empty. */
    private String nameAt(String link) {
        return files.realPath(link)
                .map(real -> real.substring(real.lastIndexOf('/') + 1).replaceAll("[^\\x21-\\x7e]", "?"))
                .orElse("");
    }

    private Optional<String> file(String device, String name) {
        return files.line(CLASS + device + "/" + name);
    }
}
