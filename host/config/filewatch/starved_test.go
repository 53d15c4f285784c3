package filewatch_test

const starvedFile = "FILEWATCH_STARVED"

func followStarved(string) {}
