package nuscenes

import "strings"

// officialMini are the scenes of nuScenes's mini version, those for training first.
var officialMini = []int{61, 553, 655, 757, 796, 1077, 1094, 1100, 103, 916}

// officialTrain are runs of scenes of nuScenes's training split (nuscenes-devkit, utils/splits.py): the first and the last one. Those that the
// devkit's CAN bus refuses are left out.
var officialTrain = [][2]int{
	{1, 2}, {4, 11}, {19, 34}, {41, 76}, {120, 135}, {138, 139}, {149, 152}, {154, 155}, {157, 160}, {177, 185}, {187, 188}, {190, 196},
	{199, 200}, {202, 204}, {206, 214}, {218, 220}, {222, 222}, {224, 264}, {283, 306}, {315, 318}, {347, 386}, {388, 403}, {405, 408},
	{410, 459}, {461, 465}, {467, 469}, {471, 472}, {474, 480}, {499, 502}, {504, 515}, {525, 539}, {541, 546}, {582, 600}, {639, 679},
	{683, 689}, {695, 698}, {700, 701}, {703, 719}, {733, 741}, {749, 752}, {757, 765}, {803, 806}, {808, 813}, {847, 856}, {860, 866},
	{868, 873}, {875, 878}, {882, 903}, {955, 961}, {975, 984}, {988, 992}, {994, 1025}, {1044, 1058}, {1074, 1102}, {1104, 1110},
}

// officialScenes are the numbers of the scenes of a version.
func officialScenes(version string) (numbers []int) {
	if strings.HasSuffix(version, "mini") {
		return officialMini
	}
	for _, r := range officialTrain {
		for n := r[0]; n <= r[1]; n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
